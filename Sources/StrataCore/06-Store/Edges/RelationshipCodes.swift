/// What a store's codes mean for the relationships of a schema, in tables for loops over many rows. Part of the catalogue.
struct RelationshipCodes: Sendable {
  /// A slot of an entity that holds references.
  struct ReferenceSlot: Sendable {
    /// The to-one relationship's number.
    let relationship: Int
    let slot: Int
    /// The slot's word in the entity's layout.
    let entry: UInt32
    /// Code and flags of the edges that follow from it, where those of the owner go in; 0 for a one-to-one relationship.
    let edgePrefix: UInt64
    /// Whether the inverse keeps an order.
    let isOrdered: Bool
  }

  /// Edges whose owners are the rows of one hierarchy.
  struct OwnedEdges: Sendable {
    enum Kind: Sendable {
      /// They lead to rows that refer to the owner by this to-one relationship. Such a row must not be left behind.
      case referrers(toOne: Int)
      /// The same, but the owner may go all the same (rule 212).
      case deserters
      /// They are the only record of the relationship of this number.
      case stored(Int)
      /// They lead back to owners of the edges of the relationship of this number.
      case hidden(Int)
    }
    let code: UInt16
    let kind: Kind
  }

  /// By relationship number: the code without flags; 0 for relationships that the store does not know, or does not keep.
  let codes: [UInt16]
  /// By code without flags: the relationship's number, -1 for those the schema does not know.
  let numbers: [Int32]
  /// By code without flags: whether the relationship keeps an order.
  private let orderedCodes: [Bool]
  /// All names with codes, also of relationships that the schema does not know.
  let codesByName: [String: UInt16]
  /// By entity number.
  let referenceSlots: [[ReferenceSlot]]
  /// By hierarchy number.
  let ownedEdges: [[OwnedEdges]]
  /// By relationship number, then by entity code: whether the relationship may lead there.
  let destinations: [[Bool]]

  init(_ schema: Schema, codesByName: [String: UInt16], entityCodes: [UInt16]) {
    self.codesByName = codesByName
    let codes = schema.relationships.map { relationship -> UInt16 in
      if relationship.isTransient { return 0 }
      let code = codesByName[relationship.storedName] ?? 0
      return code <= EdgeKey.largestCode ? code : 0
    }
    var numbers = [Int32](repeating: -1, count: Int(codes.max() ?? 0) + 1)
    for (number, code) in codes.enumerated() where code > 0 { numbers[Int(code)] = Int32(number) }
    self.codes = codes
    self.numbers = numbers
    orderedCodes = numbers.map { $0 >= 0 && schema.relationships[Int($0)].isOrdered }
    referenceSlots = schema.entities.map { entity in
      entity.relationships.compactMap { relationship in
        if relationship.isToMany || relationship.isTransient { return nil }
        let set = Self.derivedEdges(of: relationship, schema)
        return ReferenceSlot(
          relationship: relationship.number, slot: relationship.slot,
          entry: entity.layout.entry(of: relationship.slot),
          edgePrefix: set.map { EdgeKey.prefix(Self.code($0, codes), 0) } ?? 0,
          isOrdered: relationship.inverse.map { schema.relationships[$0].isOrdered } ?? false)
      }
    }
    var ownedEdges = [[OwnedEdges]](repeating: [], count: schema.hierarchies.count)
    for relationship in schema.relationships where codes[relationship.number] > 0 {
      let hierarchy = schema.entities[relationship.owner].hierarchyNumber
      let code = codes[relationship.number]
      if relationship.isEdgeStored {
        ownedEdges[hierarchy].append(OwnedEdges(code: code, kind: .stored(relationship.number)))
      } else if relationship.isToMany, let inverse = relationship.inverse {
        let mayDesert = relationship.deleteRule == .noAction
        ownedEdges[hierarchy].append(
          OwnedEdges(code: code, kind: mayDesert ? .deserters : .referrers(toOne: inverse)))
      }
      if relationship.hasHiddenInverse {
        ownedEdges[relationship.destinationHierarchy].append(
          OwnedEdges(
            code: code | EdgeKey.hiddenInverse,
            kind: relationship.isToMany
              ? .hidden(relationship.number) : .referrers(toOne: relationship.number)))
      }
    }
    self.ownedEdges = ownedEdges
    let codeCount = Int(entityCodes.max() ?? 0) + 1
    destinations = schema.relationships.map { relationship in
      var allowed = [Bool](repeating: false, count: codeCount)
      for entity in schema.entities[relationship.destination].subtree where entityCodes[entity] > 0 {
        allowed[Int(entityCodes[entity])] = true
      }
      return allowed
    }
  }

  /// The edges that follow from the references of a to-one relationship; nil for a one-to-one.
  static func derivedEdges(of relationship: RelationshipSchema, _ schema: Schema) -> EdgeSet? {
    guard let inverse = relationship.inverse else {
      return EdgeSet(relationship: relationship.number, isHiddenInverse: true)
    }
    return schema.relationships[inverse].isToMany ? EdgeSet(relationship: inverse) : nil
  }

  /// The edges that lead back from those of an edge-stored relationship.
  static func twin(of relationship: RelationshipSchema) -> EdgeSet {
    relationship.inverse.map { EdgeSet(relationship: $0) }
      ?? EdgeSet(relationship: relationship.number, isHiddenInverse: true)
  }

  /// The code of a set with its flag; 0 when the store keeps none.
  func code(_ edges: EdgeSet) -> UInt16 { Self.code(edges, codes) }

  private static func code(_ edges: EdgeSet, _ codes: [UInt16]) -> UInt16 {
    let code = codes[edges.relationship]
    return code == 0 || !edges.isHiddenInverse ? code : code | EdgeKey.hiddenInverse
  }

  /// The relationship that a code with flags means; nil for one the schema does not know.
  func relationship(code: UInt16) -> Int? {
    let plain = Int(code & EdgeKey.largestCode)
    guard plain < numbers.count, numbers[plain] >= 0 else { return nil }
    return Int(numbers[plain])
  }

  /// Whether the edges of a code with flags have an order: then each is an entry of its own.
  @inline(__always)
  func isOrdered(code: UInt16) -> Bool {
    let plain = Int(code & EdgeKey.largestCode)
    return code & EdgeKey.hiddenInverse == 0 && plain < orderedCodes.count && orderedCodes[plain]
  }

  /// Whether a reference may be one of the relationship, by its entity.
  @inline(__always)
  func allows(_ relationship: Int, _ reference: UInt64) -> Bool {
    let code = Int(Reference.entityCode(reference))
    return code < destinations[relationship].count && destinations[relationship][code]
  }
}
