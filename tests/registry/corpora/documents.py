"""Documents for tests: PDFs made by hand, with and without malice."""

import zlib
from io import BytesIO

from pypdf import PdfWriter


def pdf(*pages: str, title: str = "", compressed: bool = True) -> bytes:
    """A PDF with a line of text a page."""
    contents = [f"BT /F1 12 Tf 72 720 Td ({page}) Tj ET".encode("latin-1") for page in pages]
    return pdf_of([zlib.compress(content) if compressed else content for content in contents], title, compressed)


def pdf_of(streams: list[bytes], title: str = "", compressed: bool = True) -> bytes:
    """A PDF with these streams as the contents of its pages, whatever they are."""
    numbers = range(4, 4 + 2 * len(streams), 2)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    encoding = " /Filter /FlateDecode" if compressed else ""
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} >>".encode(),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    for number, stream in zip(numbers, streams, strict=True):
        place = "/Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
        objects[number] = f"<< /Type /Page {place} /Contents {number + 1} 0 R >>".encode()
        head = f"<< /Length {len(stream)}{encoding} >>\nstream\n".encode()
        objects[number + 1] = head + stream + b"\nendstream"
    return _file(objects, title)


def _file(objects: dict[int, bytes], title: str) -> bytes:
    info = max(objects) + 1
    objects = {**objects, info: f"<< /Title ({title}) >>".encode()}
    data, places = b"%PDF-1.4\n", []
    for number in range(1, info + 1):
        places.append(len(data))
        data += f"{number} 0 obj\n".encode() + objects[number] + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"trailer << /Size {info + 1} /Root 1 0 R /Info {info} 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + f"xref\n0 {info + 1}\n0000000000 65535 f \n{table}".encode() + trailer.encode()


def protected_pdf(password: str) -> bytes:
    writer = PdfWriter(clone_from=BytesIO(pdf("Nobody may know.")))
    writer.encrypt(password, algorithm="AES-256")
    file = BytesIO()
    writer.write(file)
    return file.getvalue()
