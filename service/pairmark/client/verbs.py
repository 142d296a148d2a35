"""One definition of a method for clients that wait and clients that are awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import update_wrapper, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from pairmark.client.connection import AsyncConnection, Connection
from pairmark.client.steps import Call, Steps

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Paged(Generic[T]):
    """A list that comes page by page: `read` gives a page's items, and the call for the next page."""

    first: Call
    read: Callable[[Call], Steps[tuple[Sequence[T], Call | None]]]


class Waiting:
    """Has a connection that waits."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _run(self, steps: Steps[T]) -> T:
        return self._connection.run(steps)

    def _walk(self, paged: Paged[T]) -> Iterator[T]:
        call: Call | None = paged.first
        while call is not None:
            items, call = self._run(paged.read(call))
            yield from items


class Awaited:
    """Has a connection that is awaited."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def _run(self, steps: Steps[T]) -> T:
        return await self._connection.run(steps)

    async def _walk(self, paged: Paged[T]) -> AsyncIterator[T]:
        call: Call | None = paged.first
        while call is not None:
            items, call = await self._run(paged.read(call))
            for item in items:
                yield item


class Verb(Generic[P, T]):
    """A method whose body is steps: of a waiting client it gives the result, of an awaited one a coroutine."""

    def __init__(self, function: Callable[Concatenate[Any, P], Steps[T]]) -> None:
        self._function = function
        update_wrapper(self, function)  # type: ignore[arg-type]  # for its name and docstring

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Waiting, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Awaited, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self

        @wraps(self._function)
        def call(*arguments: P.args, **named: P.kwargs) -> Any:
            return instance._run(self._function(instance, *arguments, **named))

        return call


class Listing(Generic[P, T]):
    """A method that gives a list: of a waiting client an iterator, of an awaited one an asynchronous one."""

    def __init__(self, function: Callable[Concatenate[Any, P], Paged[T]]) -> None:
        self._function = function
        update_wrapper(self, function)  # type: ignore[arg-type]  # for its name and docstring

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Waiting, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, instance: Awaited, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self

        @wraps(self._function)
        def call(*arguments: P.args, **named: P.kwargs) -> Any:
            return instance._walk(self._function(instance, *arguments, **named))

        return call
