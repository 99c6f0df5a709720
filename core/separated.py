"""Tables as spreadsheets save them: which character parts the cells, and in which encoding the text is."""

import codecs
import csv

DELIMITERS = ",;\t"
SAVE_AS_UTF8 = "save it as UTF-8: in Excel, as the file type 'CSV UTF-8'"


def decoded(data: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16 with the mark by which Excel's 'Unicode text' begins.

    Raises:
        UnicodeDecodeError: It is in neither; `SAVE_AS_UTF8` is the mend.
    """
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_wide else "utf-8-sig")


def delimiter_of(text: str) -> str:
    """What parts the cells, told by the head: where a comma marks decimals, spreadsheets write semicolons.

    Names of columns hold none of the three, so it is the one that parts the head into most cells; ',' where none does.
    """
    head = next((line for line in text.splitlines() if line.strip()), "")
    cells = {one: len(next(csv.reader([head], delimiter=one), [])) for one in DELIMITERS}
    return max(DELIMITERS, key=lambda one: cells[one])
