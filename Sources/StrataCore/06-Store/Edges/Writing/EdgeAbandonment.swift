extension EdgeCollection {
  /// An edge that goes with a row.
  struct Abandonment {
    /// The relationship of the object that loses a partner.
    let relationship: Int
    /// The row that stays and the one that is deleted, with their entity codes.
    let member: UInt64
    let gone: UInt64
  }

  /// Rows that lose a relationship because another row goes, where the change set does not name them, because the saving context did not know.
  /// Costs memory for the edges that go with deleted rows and for those that the change set removes.
  func untoldTouches() -> [RowTouch] {
    if abandoned.isEmpty { return [] }
    struct Tie: Hashable {
      let relationship: Int
      let owner: UInt64
      let member: UInt64
    }
    var said: Set<Tie> = []
    for edge in writer.changeSet.edges where edge.kind == .remove {
      said.insert(
        Tie(
          relationship: edge.relationship, owner: edge.owner, member: Reference.primaryKey(edge.member)))
    }
    let gone = Set(
      writer.deleted.map { Reference.bits($0.key, entityCode: catalogue.entityCodes[$0.row.entity]) })
    var touches: Set<RowTouch> = []
    for tie in abandoned {
      // Who goes as well has nothing to lose.
      if gone.contains(tie.member) { continue }
      let (left, lost) = (Reference.primaryKey(tie.member), Reference.primaryKey(tie.gone))
      if said.contains(Tie(relationship: tie.relationship, owner: left, member: lost)) { continue }
      if let inverse = parts.schema.relationships[tie.relationship].inverse,
        said.contains(Tie(relationship: inverse, owner: lost, member: left))
      {
        continue
      }
      if let entity = catalogue.entity(code: Reference.entityCode(tie.member)) {
        touches.insert(RowTouch(entity: entity, primaryKey: left))
      }
    }
    return Array(touches)
  }
}
