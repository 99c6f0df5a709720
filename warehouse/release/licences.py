"""Which licences allow that a material is published with a benchmark.

Listed are licences under which unchanged and changed copies may be passed on by anybody, with conditions that an
attribution table and this notice meet. `NoDerivatives` licences are not listed, because working copies are changed
(metadata stripped, sound taken from video); neither are URLs and licences of one's own, because what they say cannot
be told from their name: whoever seals reads them and allows each by name.
"""

import re
from collections.abc import Collection

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
_VERSIONED = re.compile(r"[0-9][0-9a-z.]*(-[a-z]{2,3})?(-only|-or-later)?")


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
