"""The workbench: pages on this computer's own address on which a release is taken apart, asked and priced by hand.

A shell: it reads files, assesses and asks only through the public functions, and sends plain values to the page.
"""

from __future__ import annotations

from noisegate.workbench.app import make_app
from noisegate.workbench.jobs import Jobs
from noisegate.workbench.server import serve

__all__ = ["Jobs", "make_app", "serve"]
