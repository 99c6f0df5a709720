"""Which media of the library show the same, so that questions about them can be compared."""

from sqlmodel import Session, col, select

from warehouse.tables import DuplicateLink, Material


def representatives(session: Session) -> dict[str, str]:
    """The sha256 of each working copy that has near-duplicates, to that of one which stands for all of its group.

    Groups are the connected components of all duplicate links, whatever found them, but for those that say only that
    media mean nearly the same: another photo of one scene can be asked the same. The smallest sha256 stands for its
    group, and working copies without near-duplicates are left out.
    """
    from scipy.cluster.hierarchy import DisjointSet

    same = DuplicateLink.shows_same()
    links = session.exec(select(DuplicateLink.first_id, DuplicateLink.second_id).where(same)).all()
    linked = select(DuplicateLink.first_id).where(same).union(select(DuplicateLink.second_id).where(same))
    found = session.exec(select(Material.id, Material.media).where(col(Material.id).in_(linked)))
    sha256s = {id_: media["sha256"] for id_, media in found}
    groups = DisjointSet(sha256s.values())
    for first, second in links:
        groups.merge(sha256s[first], sha256s[second])
    return {sha256: min(group) for group in groups.subsets() for sha256 in group}
