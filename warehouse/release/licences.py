"""Which licences allow that a material is published with a benchmark.

Listed are licences under which unchanged and changed copies may be passed on by anybody, with conditions that an
attribution table and this notice meet. `NoDerivatives` licences are not listed, because working copies are changed
(metadata stripped, sound taken from video); neither are URLs and licences of one's own, because what they say cannot
be told from their name: whoever seals reads them and allows each by name.
"""

import difflib
import re
from collections.abc import Collection

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from core.errors import InterplayError

# SPDX identifiers (https://spdx.org/licenses/), in lower case; a name that ends in "-" stands for all its versions.
PUBLISHABLE = (
    "0bsd",
    "apache-2.0",
    "artistic-2.0",
    "bsd-2-clause",
    "bsd-3-clause",
    "cc-by-",
    "cc-by-nc-",
    "cc-by-nc-sa-",
    "cc-by-sa-",
    "cc-pddc",
    "cc0-",
    "cdla-permissive-",
    "cdla-sharing-",
    "etalab-2.0",
    "fal-1.",
    "gfdl-",
    "gpl-2.0",
    "gpl-3.0",
    "isc",
    "lgpl-2.1",
    "lgpl-3.0",
    "mit",
    "mit-0",
    "mpl-2.0",
    "odbl-1.0",
    "odc-by-1.0",
    "ogl-uk-",
    "pddl-1.0",
    "unlicense",
    "wtfpl",
)
_NOISE = re.compile(r"\b(the|licen[cs]ed?|international|unported|deed|version|v(?=\.?\d))\b\.?", re.IGNORECASE)
_OFTEN_MEANT = {
    re.sub("[^a-z0-9]", "", name.lower()): name
    for name in (
        *(f"CC-BY{kind}-{version}.0" for version in "4321" for kind in ("", "-SA", "-NC", "-NC-SA", "-ND", "-NC-ND")),
        *("CC0-1.0", "Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "GPL-3.0-only", "ODbL-1.0", "MPL-2.0"),
    )
} | {"cc0": "CC0-1.0"}
"""By their letters and digits, what people write in many ways."""
_VERSIONED = re.compile(r"[0-9][0-9a-z.]*(-[a-z]{2,3})?(-only|-or-later)?")


class UnclearLicence(InterplayError):
    """A licence that is no SPDX identifier, but nearly one."""

    def __init__(self, licence: str, meant: str) -> None:
        super().__init__(f"{licence!r} is no SPDX identifier; did you mean {meant}? write it so, or the licence's URL")


def checked_licence(licence: str | None, allowed: Collection[str] = ()) -> str | None:
    """The licence, unless it looks like a slip of the pen.

    Raises:
        UnclearLicence: It is neither known nor allowed, and nearly an SPDX identifier.
    """
    if licence is not None and licence.strip() not in allowed and (meant := meant_licence(licence)) is not None:
        raise UnclearLicence(licence, meant)
    return licence


def meant_licence(licence: str) -> str | None:
    """The SPDX identifier that was likely meant by what is none; None for what is one, a URL, or nothing near."""
    name = licence.strip()
    if not name or "://" in name or _canonical(name) is not None:
        return None
    plain = re.sub(r"[\s_/-]+", "-", _NOISE.sub(" ", name).strip())
    for end in ("", ".0", "-4.0"):
        if (found := _canonical(plain + end)) is not None:
            return found
    near = difflib.get_close_matches(re.sub("[^a-z0-9]", "", plain.lower()), _OFTEN_MEANT, n=1, cutoff=0.8)
    return _OFTEN_MEANT[near[0]] if near else None


def forbids_commerce(licence: str) -> bool:
    """Whether what holds the material may not be used commercially."""
    return re.search(r"-nc(-|$)|noncommercial", licence.strip().lower()) is not None


def _canonical(name: str) -> str | None:
    try:
        return str(canonicalize_license_expression(name))
    except InvalidLicenseExpression:
        return None


def may_publish(licence: str, allowed: Collection[str] = ()) -> bool:
    """Whether a material under this licence (an SPDX identifier or a URL) may be published.

    `allowed` are licences that whoever seals the release has read and allows.
    """
    name = licence.strip()
    if name in allowed:
        return True
    return any(_is(name.lower(), known) for known in PUBLISHABLE)


def _is(name: str, known: str) -> bool:
    if not name.startswith(known):
        return False
    rest = name[len(known) :]
    return _VERSIONED.fullmatch(rest) is not None if known[-1] in "-." else rest in {"", "-only", "-or-later", "+"}
