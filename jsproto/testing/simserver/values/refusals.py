"""Errors of the JetStream API, as values: the server's code, number and text (nats-server
``errors.json``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from jsproto.jetstream.api.error_codes import BY_ERR_CODE


class ApiRefusal(NamedTuple):
    """One error: ``code`` is HTTP-like, ``err_code`` the server's own number; ``{}`` in the text is
    filled in.
    """

    code: int
    err_code: int
    text: str

    def body(self) -> dict[str, object]:
        """The ``error`` member of an answer."""
        return {"code": self.code, "err_code": self.err_code, "description": self.text}

    def about(self, detail: object) -> ApiRefusal:
        """The same error with its text completed."""
        return self._replace(text=self.text.format(detail))


def numbered(err_code: int, detail: object = "") -> ApiRefusal:
    """The error of this number, its text completed."""
    row = BY_ERR_CODE[err_code]
    head, brace, tail = row.description.partition("{")
    text = f"{head}{detail}{tail.partition('}')[2]}" if brace else row.description
    return ApiRefusal(row.code, err_code, text)


class RefusedError(Exception):
    """Carries a refusal out of the depths of one request."""

    def __init__(self, refusal: ApiRefusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


BAD_REQUEST: Final = ApiRefusal(400, 10003, "bad request")
CONSUMER_CREATE: Final = ApiRefusal(500, 10012, "{}")
CONSUMER_NAME_EXISTS: Final = ApiRefusal(400, 10013, "consumer name already in use")
CONSUMER_NOT_FOUND: Final = ApiRefusal(404, 10014, "consumer not found")
DURABLE_NAME_MISMATCH: Final = ApiRefusal(
    400, 10017, "consumer name in subject does not match durable name in request"
)
DURABLE_NAME_NOT_SET: Final = ApiRefusal(
    400, 10018, "consumer expected to be durable but a durable name was not set"
)
EPHEMERAL_WITH_DURABLE: Final = ApiRefusal(
    400, 10020, "consumer expected to be ephemeral but a durable name was set in request"
)
CLUSTER_REQUIRED: Final = ApiRefusal(503, 10010, "JetStream clustering support required")
INVALID_JSON: Final = ApiRefusal(400, 10025, "invalid JSON")
MAX_CONSUMERS: Final = ApiRefusal(400, 10026, "maximum consumers limit reached")
NOT_EMPTY_REQUEST: Final = ApiRefusal(400, 10038, "expected an empty request payload")
NO_MESSAGE: Final = ApiRefusal(404, 10037, "no message found")
SEQUENCE_NOT_FOUND: Final = ApiRefusal(400, 10043, "sequence {} not found")
NOT_OF_TEMPLATE: Final = ApiRefusal(500, 10049, "stream not owned by template")
INVALID_CONFIG: Final = ApiRefusal(500, 10052, "{}")
MESSAGE_TOO_BIG: Final = ApiRefusal(400, 10054, "message size exceeds maximum allowed")
NAME_MISMATCH: Final = ApiRefusal(400, 10056, "stream name in subject does not match request")
MSG_DELETE_FAILED: Final = ApiRefusal(500, 10057, "{}")
STREAM_EXISTS: Final = ApiRefusal(
    400, 10058, "stream name already in use with a different configuration"
)
STREAM_NOT_FOUND: Final = ApiRefusal(404, 10059, "stream not found")
STREAM_MISMATCH: Final = ApiRefusal(400, 10060, "expected stream does not match")
SUBJECT_OVERLAP: Final = ApiRefusal(400, 10065, "subjects overlap with an existing stream")
WRONG_LAST_MSG_ID: Final = ApiRefusal(400, 10070, "wrong last msg ID: {}")
WRONG_LAST_SEQUENCE: Final = ApiRefusal(400, 10071, "wrong last sequence: {}")
REPLICAS_NOT_SUPPORTED: Final = ApiRefusal(
    500, 10074, "replicas > 1 not supported in non-clustered mode"
)
STORE_FAILED: Final = ApiRefusal(503, 10077, "{}")
WORKQUEUE_ACK: Final = ApiRefusal(400, 10084, "{}")
FILTER_NOT_SUBSET: Final = ApiRefusal(
    400, 10093, "consumer filter subject is not a valid subset of the interest subjects"
)
HEADER_TOO_BIG: Final = ApiRefusal(400, 10097, "header size exceeds maximum allowed of 64k")
WORKQUEUE_UNFILTERED: Final = ApiRefusal(
    400, 10099, "multiple non-filtered consumers not allowed on workqueue stream"
)
WORKQUEUE_NOT_UNIQUE: Final = ApiRefusal(
    400, 10100, "filtered consumer not unique on workqueue stream"
)
WORKQUEUE_DELIVER_ALL: Final = ApiRefusal(
    400, 10101, "consumer must be deliver all on workqueue stream"
)
SEALED: Final = ApiRefusal(400, 10109, "invalid operation on sealed stream")
PURGE_FAILED: Final = ApiRefusal(500, 10110, "{}")
#: The text is the store's own.
NO_MESSAGE_TO_KEEP: Final = ApiRefusal(500, 10051, "no message found")
ROLLUP_FAILED: Final = ApiRefusal(500, 10111, "{}")
BACKOFF_TOO_LONG: Final = ApiRefusal(
    400, 10116, "max deliver is required to be > length of backoff values"
)
FILTER_MISMATCH: Final = ApiRefusal(
    400, 10131, "Consumer create request did not match filtered subject from create subject"
)
BOTH_FILTERS: Final = ApiRefusal(
    400, 10136, "consumer cannot have both FilterSubject and FilterSubjects specified"
)
FILTERS_IN_SUBJECT: Final = ApiRefusal(
    400, 10137, "consumer with multiple subject filters cannot use subject based API"
)
FILTERS_OVERLAP: Final = ApiRefusal(400, 10138, "consumer subject filters cannot overlap")
FILTER_EMPTY: Final = ApiRefusal(400, 10139, "consumer filter in FilterSubjects cannot be empty")
CONSUMER_EXISTS: Final = ApiRefusal(400, 10148, "consumer already exists")
CONSUMER_DOES_NOT_EXIST: Final = ApiRefusal(400, 10149, "consumer does not exist")
PEDANTIC: Final = ApiRefusal(400, 10157, "pedantic mode: {}")
NO_SUCH_GROUP: Final = ApiRefusal(
    400, 10160, "Provided priority group does not exist for this consumer"
)
REQUIRED_API_LEVEL: Final = ApiRefusal(412, 10185, "JetStream minimum api level required")
INVALID_RESET: Final = ApiRefusal(400, 10204, "invalid reset: {}")
EXPECTED_SUBJECT_ALONE: Final = ApiRefusal(
    400, 10193, "missing sequence for expected last sequence per subject"
)

#: Not an error of any server: the model knows that it does not know. Code 501 exists nowhere else.
NOT_MODELLED: Final = ApiRefusal(501, 0, "not modelled by SimServer: {}")
