# SPDX-License-Identifier: GPL-2.0-only
"""What a release needs: steps in the order that fails fastest, and the page that tells of them."""
