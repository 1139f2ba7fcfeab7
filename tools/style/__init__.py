# SPDX-License-Identifier: Apache-2.0
"""The style test: see tools/tidy."""
