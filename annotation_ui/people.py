"""Names for those who did something: people as others see them, checks and commands as they call themselves."""

from collections.abc import Iterable

from sqlmodel import Session, col, select

from warehouse.tables import User


def display_names(session: Session, actors: Iterable[str]) -> dict[str, str]:
    """What to call each actor, who is named by user id, by sign-in name, or as `check@version`."""
    wanted = set(actors)
    users = session.exec(select(User).where(col(User.id).in_(wanted) | col(User.name).in_(wanted)))
    names = {key: user.display_name for user in users for key in (user.id, user.name)}
    return {actor: names.get(actor, actor) for actor in wanted}
