/// A to-one relationship that leads nowhere, in a store that is otherwise complete.
struct LostLink {
  enum Reason {
    case missing
    /// The object of that key is of another entity: a reference to it.
    case otherEntity(UInt64)
    /// The object does not refer back by this one-to-one relationship.
    case oneSided(back: String)
  }

  /// The row that has it.
  let entity: Int
  let key: UInt64
  let relationship: String
  let reference: UInt64
  let reason: Reason
  /// How many more there are.
  private(set) var otherCount = 0

  /// The one with the smallest key; nil when all links are sound. Goes through all rows.
  static func first(in store: LMDBStore) throws -> LostLink? {
    let references = SalvageReferences(store: store)
    let rows = try references.rows()
    var first: LostLink?
    var count = 0
    for hierarchy in store.parts.schema.hierarchies {
      var key: UInt64 = 0
      while let repairs = try references.repairs(hierarchy.number, from: key, rows) {
        if first == nil, let repair = repairs.first { first = LostLink(repair, rows, store.parts.schema) }
        count += repairs.reduce(0) { $0 + $1.slots.count }
        key = (repairs.last?.row.primaryKey ?? key) + 1
      }
    }
    first?.otherCount = max(count - 1, 0)
    return first
  }

  private init?(
    _ repair: SalvageReferences.Repair, _ rows: [ContiguousArray<UInt64>], _ schema: Schema
  ) {
    let entity = schema.entities[repair.row.entity]
    guard let slot = repair.slots.first,
      let relationship = entity.relationships.first(where: { $0.slot == slot }),
      case .reference(let reference)? = repair.row.snapshot?.value(slot, entity.layout)
    else { return nil }
    self.entity = entity.number
    key = repair.row.primaryKey
    self.relationship = relationship.name
    self.reference = reference
    var finder = ReferenceFinder(rows[relationship.destinationHierarchy])
    if let found = finder.find(Reference.primaryKey(reference)) {
      let back = relationship.inverse.map { schema.relationships[$0].name } ?? ""
      reason = found == reference ? .oneSided(back: back) : .otherEntity(found)
    } else {
      reason = .missing
    }
  }
}
