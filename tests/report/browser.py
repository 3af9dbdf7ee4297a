"""Pages in a real browser engine (Qt WebEngine: Chromium), in a process of its own.

`python browser.py light|dark OUT PAGE...` opens every page narrow and wide, and writes what it
found as JSON.
"""

import json
import os
import sys
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"
SCHEMES = {"dark": 0, "light": 1}  # as Chromium numbers them
os.environ["QTWEBENGINE_CHROMIUM_FLAGS"] = (
    "--no-sandbox --disable-gpu --disable-dev-shm-usage "
    f"--blink-settings=preferredColorScheme={SCHEMES[sys.argv[1]]}"
)

# These read the settings above while they are loaded.
from PySide6.QtCore import QEventLoop, QTimer, QUrl  # noqa: E402
from PySide6.QtWebEngineCore import (  # noqa: E402
    QWebEnginePage,
    QWebEngineProfile,
    QWebEngineUrlRequestInterceptor,
)
from PySide6.QtWebEngineWidgets import QWebEngineView  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

PHONE, DESK = 390, 1100
PATIENCE = 60_000  # milliseconds that one step may take
PROBE = Path(__file__).with_name("probe.js").read_text(encoding="utf-8")


class Requests(QWebEngineUrlRequestInterceptor):
    """Write down what the page asks for."""

    def __init__(self):
        super().__init__()
        self.urls = []

    def interceptRequest(self, info):
        self.urls.append(info.requestUrl().toString())


class Page(QWebEnginePage):
    """Write down what the page says on its console."""

    def __init__(self, profile):
        super().__init__(profile)
        self.said = []

    def javaScriptConsoleMessage(self, _level, message, line, _source):
        self.said.append(f"{line}: {message}")


def wait(begin):
    """Run the event loop until a callback is called; give what it got."""
    loop, result = QEventLoop(), []

    def done(*values):
        result.extend(values)
        loop.quit()

    QTimer.singleShot(PATIENCE, loop.quit)
    begin(done)
    loop.exec()
    if not result:
        raise TimeoutError
    return result[0]


def visit(profile, requests, path, width, picture):
    """Open a page at a width, and ask it everything that the tests want to know."""
    page, view = Page(profile), QWebEngineView()
    view.setPage(page)
    view.resize(width, 900)
    view.show()
    requests.urls.clear()

    def load(done):
        page.loadFinished.connect(done)
        page.load(QUrl.fromLocalFile(str(path)))

    result = {"loaded": wait(load)}
    result["probe"] = json.loads(wait(lambda done: page.runJavaScript(PROBE, done)))
    result["console"], result["requests"] = page.said, list(requests.urls)
    if width == DESK and sys.argv[1] == "light":
        pdf = bytes(wait(page.printToPdf))
        result["pdf"] = {"start": pdf[:5].decode(), "pages": pdf.count(b"/Type /Page\n")}
        picture.with_suffix(".pdf").write_bytes(pdf)
    view.grab().save(str(picture))
    view.close()
    return result


def main(scheme, out, pages):
    app = QApplication(sys.argv[:1])
    profile, requests = QWebEngineProfile(), Requests()
    profile.setUrlRequestInterceptor(requests)
    results = {}
    for path in pages:
        for width in (PHONE, DESK):
            picture = out.parent / f"{path.stem}-{scheme}-{width}.png"
            results[f"{path.stem} {width}"] = visit(profile, requests, path, width, picture)
    out.write_text(json.dumps(results), encoding="utf-8")
    return app


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [Path(p) for p in sys.argv[3:]])
    sys.stdout.flush()
    os._exit(0)  # Qt may not end cleanly without a display, and there is nothing left to do
