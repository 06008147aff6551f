# SPDX-License-Identifier: Apache-2.0
"""One module a command, each with its ``command``. What is slow to import is imported when a command runs."""
