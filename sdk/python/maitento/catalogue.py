"""What is kept between runs besides files: namespaces, secrets, images."""

from __future__ import annotations

from collections.abc import Sequence

from maitento.reading import Members
from maitento.records import Image, Named, Namespace, read_image, read_named, read_namespace
from maitento.transport import Transport, part


class Namespaces:
    """Namespaces separate file systems, secrets, capsules and runs; `default` is always there."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def find(self, name: str) -> Namespace | None:
        """None when there is none of that name, or this key may not see it."""
        return next((space for space in self.list() if space.name == name), None)

    def list(self) -> Sequence[Namespace]:
        return Members(self._transport.get("/v1/namespaces"), "the answer").each("items", read_namespace)

    def create(self, name: str) -> Namespace:
        """ConflictError ("already-exists") when the name is taken."""
        return read_namespace(self._transport.post("/v1/namespaces", {"name": name}))

    def delete(self, name: str) -> None:
        """ConflictError ("not-empty") while something is in it."""
        self._transport.delete(f"/v1/namespaces/{part(name)}")

    def set_image(self, name: str, image: str) -> Namespace:
        """What its capsules start from that name no image: a name or a version."""
        return read_namespace(self._transport.put_document(f"/v1/namespaces/{part(name)}/image", {"image": image}))

    def clear_image(self, name: str) -> Namespace:
        """The host's default image again."""
        return read_namespace(self._transport.delete(f"/v1/namespaces/{part(name)}/image"))


class Secrets:
    """Secrets of the client's namespace. Their values can be set and mounted, never read back."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self._transport = transport
        self._target = f"/v1/namespaces/{part(namespace)}/secrets"

    def set(self, name: str, value: str | bytes) -> None:
        """Creates or replaces it: exactly these bytes, text as UTF-8, 64 KiB at most."""
        self._transport.put(f"{self._target}/{part(name)}", value.encode() if isinstance(value, str) else value)

    def list(self) -> Sequence[Named]:
        """Names only."""
        return Members(self._transport.get(self._target), "the answer").each("items", read_named)

    def delete(self, name: str) -> None:
        """ConflictError ("in-use") while a live run mounts it."""
        self._transport.delete(f"{self._target}/{part(name)}")


class Images:
    """What capsules start from. Images are built with `mt image build`, on the host."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Sequence[Image]:
        """Every version of every image."""
        return Members(self._transport.get("/v1/images"), "the answer").each("items", read_image)

    def get(self, name: str) -> Image:
        """By name (its current version) or by version; its packages are in `document`."""
        return read_image(self._transport.get(f"/v1/images/{part(name)}"))

    def delete(self, version: str) -> Image:
        """What was deleted. ConflictError ("in-use") while a live run or a namespace needs it."""
        return read_image(self._transport.delete(f"/v1/images/{part(version)}"))
