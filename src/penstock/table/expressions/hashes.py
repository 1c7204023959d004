"""Methods that compute hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.table.expressions.base import ExpressionBase

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression


class Hashes(ExpressionBase):
    """Hashes of text, as hexadecimal digits."""

    @property
    def md5(self) -> Expression[str]:
        """The MD5 hash."""
        return self._call("MD5", "md5")

    @property
    def sha1(self) -> Expression[str]:
        """The SHA1 hash."""
        return self._call("SHA1", "sha1")

    @property
    def sha224(self) -> Expression[str]:
        """The SHA224 hash."""
        return self._call("SHA224", "sha224")

    @property
    def sha256(self) -> Expression[str]:
        """The SHA256 hash."""
        return self._call("SHA256", "sha256")

    @property
    def sha384(self) -> Expression[str]:
        """The SHA384 hash."""
        return self._call("SHA384", "sha384")

    @property
    def sha512(self) -> Expression[str]:
        """The SHA512 hash."""
        return self._call("SHA512", "sha512")

    def sha2(self, hash_length: object) -> Expression[str]:
        """The SHA-2 hash with 224, 256, 384 or 512 bits."""
        return self._call("SHA2", "sha2", hash_length)
