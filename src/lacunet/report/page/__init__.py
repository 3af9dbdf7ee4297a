"""The HTML report: one self-contained page about a selection or about one network.

`selection_page` and `network_page` collect the content, the `*_view` modules compute its sections,
and `render` fills the templates. Start at `write_report` and `write_network_report`.
"""

from lacunet.report.page.network_page import NetworkAnswer, write_network_report
from lacunet.report.page.render import check_page
from lacunet.report.page.selection_page import write_report

__all__ = ["NetworkAnswer", "check_page", "write_network_report", "write_report"]
