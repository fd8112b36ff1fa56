"""PDFs made by hand, small and hostile."""

from __future__ import annotations

import zlib


def pdf_of(*pages: str, trailer: str = "") -> bytes:
    """A PDF with one line of text on each page."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        content = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(stream(content))
    return assembled(objects, trailer)


def stream(content: bytes, more: str = "") -> bytes:
    head = f"<< /Length {len(content)} {more} >>\nstream\n".encode()
    return head + content + b"\nendstream"


def bomb(size: int) -> bytes:
    """A PDF of one page whose content is *size* bytes, compressed."""
    whole = zlib.compress(b"BT /F1 9 Tf (a) Tj ET\n" * (size // 22), 9)
    return assembled(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
            stream(whole, "/Filter /FlateDecode"),
        ]
    )


def assembled(objects: list[bytes], trailer: str = "") -> bytes:
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start, size = len(out), len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    ending = f"trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    return out + ending.encode()
