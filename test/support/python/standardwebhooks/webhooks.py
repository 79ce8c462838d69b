"""Stands in for the package `standardwebhooks` if it is not installed: the names, arguments and errors of its `webhooks` module that the
receiver of docs/webhooks.md uses. It verifies the signature of the Standard Webhooks specification, symmetric `v1`. The folder has no
`__init__.py`, so that Python prefers the package itself wherever it is on the path."""

import base64
import hmac
import json
import time

TOLERANCE_SECONDS = 300


class WebhookVerificationError(Exception):
    """A header is missing or is none, the timestamp is too far from the clock, or no signature holds."""


class Webhook:
    def __init__(self, whsecret):
        self._key = base64.b64decode(whsecret.removeprefix("whsec_"))

    def verify(self, data, headers):
        """The parsed body. Raises ValueError where a signature is not of the form `version,base64`."""
        body = data if isinstance(data, bytes) else data.encode()
        by_name = {name.lower(): value for name, value in headers.items()}
        event_id, timestamp, signatures = (by_name.get(f"webhook-{part}", "") for part in ("id", "timestamp", "signature"))
        if "" in (event_id, timestamp, signatures):
            raise WebhookVerificationError("a header is missing")
        if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
            raise WebhookVerificationError("the timestamp is none, or too far from the clock")
        expected = hmac.digest(self._key, f"{event_id}.{timestamp}.".encode() + body, "sha256")
        for signature in signatures.split(" "):
            version, text = signature.split(",")
            if version == "v1" and hmac.compare_digest(base64.b64decode(text), expected):
                return json.loads(body)
        raise WebhookVerificationError("no signature holds")
