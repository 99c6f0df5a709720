"""Runs in Label Studio's environment: so many people of its only organisation, all with one password."""

import sys

from label_studio.server import _setup_env

_setup_env()

from django.contrib.auth.hashers import make_password  # noqa: E402 - only after the set-up
from organizations.models import Organization  # noqa: E402
from users.models import User  # noqa: E402

count, password = int(sys.argv[1]), make_password(sys.argv[2])
organization = Organization.objects.get()
for number in range(count):
    name = f"annotator-{number}"
    user = User.objects.create(
        email=f"{name}@example.com", username=name, password=password, active_organization=organization
    )
    organization.add_user(user)
