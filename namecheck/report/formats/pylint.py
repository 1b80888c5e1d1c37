"""``pylint``: one line a finding in the parseable format of pylint, which many tools read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from namecheck.core.findings import register
from namecheck.core.fingerprints import identities
from namecheck.report.formats import Format
from namecheck.report.frame import visible
from namecheck.report.listing import Listing


def _lines(listing: Listing) -> Iterator[str]:
    """``loss.py:5: [NC101(name-mismatch), Net.forward] Dims 'N' and 'C' do not match.``"""
    by_finding = identities(listing.findings, listing.reader, listing.path_in_project)
    for finding in listing.findings:
        code = register()[finding.code]
        place = f"{visible(finding.filename)}:{finding.span.line}"
        about = f"{code.code}({code.name}), {by_finding[finding].function}"
        yield f"{place}: [{about}] {visible(' '.join(finding.message.split()))}"


FORMAT: Final = Format(_lines)
