"""A selection as one self-contained page: what each `*_view` says, and a template that shows it."""

from lacunet.report.page.render import check_report, write_report

__all__ = ["check_report", "write_report"]
