"""What every list takes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pairmark.domain.errors import Malformed
from pairmark.http.settings import Settings


class PageParams(BaseModel):
    """Place and size of a page. Parameters that a call does not have are refused: a misspelt filter must not pass unseen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cursor: Annotated[str | None, Field(description="`next` of the page before")] = None
    limit: Annotated[int | None, Field(ge=1, description="items in the page")] = None

    def size(self, settings: Settings) -> int:
        """How many items.

        Raises:
            Malformed: more than the service gives at once.
        """
        if self.limit is None:
            return min(settings.page_items, settings.max_page_items)
        if self.limit > settings.max_page_items:
            raise Malformed(
                "invalid-parameter", f"expected `limit` of at most {settings.max_page_items} (PAIRMARK_MAX_PAGE_ITEMS), found {self.limit}",
                remedy="follow `next` for more",
            )
        return self.limit
