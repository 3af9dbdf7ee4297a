"""One self-contained page: the content of each section, and templates that show it."""

from lacunet.report.page.network_page import NetworkAnswer, write_network_report
from lacunet.report.page.render import check_page, check_report
from lacunet.report.page.selection_page import write_report

__all__ = ["NetworkAnswer", "check_page", "check_report", "write_network_report", "write_report"]
