/// A change of the model that no row has to be written anew for: rows keep the layout they have, and are read through it.
///
/// Attributes with or without a default value come, relationships come, entities come, numbers, dates and UUIDs are renamed; indexes come and go. Everything else
/// changes rows, members or constraints, takes something away, or gives a name a second meaning, and needs a new file.
struct InPlaceChange: Sendable {
  /// Why rows must be written anew.
  struct Obstacle: Error, Sendable {
    /// The end of a sentence that begins with “because”.
    let reason: String
  }

  let fills: RowFills

  /// - Parameters:
  ///   - pairing: What of the one model continues what of the other.
  ///   - plan: The same in numbers.
  ///   - losses: What there is no place for.
  ///   - catalogue: The store's, with the schema of its own model.
  ///   - versions: The version that the store is of.
  /// - Throws: ``Obstacle``.
  init(
    _ pairing: ModelPairing, _ plan: MigrationPlan, _ losses: LossPlan, _ catalogue: StoreCatalogue,
    _ versions: StoredVersions
  ) throws(Obstacle) {
    if let loss = losses.losses.first { throw Obstacle(reason: "\(loss.name) has no place in it") }
    let layouts = KnownLayouts(catalogue)
    try layouts.requireAll()
    let changes = plan.entities.compactMap { $0 }
    for change in changes {
      try Self.requireSamePlace(change, plan)
      try Self.requireSameDerivation(change)
      try Self.requireValues(change)
      try Self.requireRelationships(change, plan)
    }
    try Self.requireConstraints(plan)
    var fills: [RowFills.Fill] = []
    for change in changes where change.source.layout.signature != change.destination.layout.signature {
      fills.append(try Self.fill(change, layouts))
    }
    let indexNames = AddedIndexNames(pairing)
    self.fills = RowFills(
      fills: fills, renamings: changes.compactMap(Self.renaming), versions: versions,
      keptIndex: { indexNames.kept($0, in: $1) })
  }

  /// Nil when all attributes keep their names.
  private static func renaming(_ change: MigrationPlan.Entity) -> RowFills.Renaming? {
    var names: [String: String] = [:]
    for (slot, value) in change.values.enumerated() {
      guard case .slot(let origin, _) = value else { continue }
      let (old, new) = (change.source.attributes[origin].name, change.destination.attributes[slot].name)
      if old != new { names[old] = new }
    }
    return names.isEmpty ? nil : RowFills.Renaming(entityName: change.destination.name, names: names)
  }

  /// What rows, keyspaces and keys of large values name by code must go on under its name.
  private static func requireSamePlace(_ change: MigrationPlan.Entity, _ plan: MigrationPlan) throws(Obstacle)
  {
    let (old, new) = (change.source, change.destination)
    guard old.name == new.name else { throw Obstacle(reason: "\(old.name) is renamed") }
    let root = plan.source.hierarchies[old.hierarchyNumber].rootName
    let parent = old.superNumber.map { plan.source.entities[$0].name }
    guard root == plan.destination.hierarchies[new.hierarchyNumber].rootName,
      parent == new.superNumber.map({ plan.destination.entities[$0].name })
    else { throw Obstacle(reason: "\(old.name) gets another parent entity") }
    guard old.isAbstract == new.isAbstract else {
      throw Obstacle(reason: "\(old.name) becomes \(new.isAbstract ? "abstract" : "concrete")")
    }
  }

  /// Derived values are in the rows.
  private static func requireSameDerivation(_ change: MigrationPlan.Entity) throws(Obstacle) {
    func hashes(_ entity: EntitySchema) -> [String: [UInt8]] {
      entity.derived.reduce(into: [:]) { result, derived in
        result[entity.attributes[derived.slot].name] = Array(
          entity.entityDescription.slotDescriptions[derived.slot].property.versionHash)
      }
    }
    guard hashes(change.source) == hashes(change.destination) else {
      throw Obstacle(reason: "\(change.destination.name) gets other derived attributes")
    }
  }

  private static func requireValues(_ change: MigrationPlan.Entity) throws(Obstacle) {
    let (old, new) = (change.source, change.destination)
    if let needed = change.needed.first {
      throw Obstacle(reason: "\(needed.name) must have a value in all rows")
    }
    for (slot, attribute) in new.attributes.enumerated()
    where attribute.relationship == nil && !attribute.isTransient {
      let name = "\(new.name).\(attribute.name)"
      switch change.values[slot] {
      case .slot(let origin, let other):
        // Large values lie under the attribute's name; decimals are never large.
        let kind = new.layout.kind(of: slot)
        if old.layout.kind(of: origin) != kind { throw Obstacle(reason: "\(name) gets another type") }
        if old.attributes[origin].name != attribute.name, kind.isVariable, kind != .decimal {
          throw Obstacle(reason: "\(name) is renamed, and its values may lie outside their rows")
        }
        if old.attributes[origin].isOptional, !attribute.isOptional, !other.isNull {
          throw Obstacle(reason: "\(name) becomes mandatory, and nil its default value")
        }
      case .constant(let value):
        if let origin = old.slot(named: attribute.name), !old.attributes[origin].isTransient {
          throw Obstacle(reason: "\(name) gets another type")
        }
        if !value.isNull, !change.defaultsNeed[slot].isEmpty {
          throw Obstacle(reason: "\(name) has a default value, and stays nil where what it is part of is nil")
        }
        if RowEncoder.variableLength(of: value) > RowFormat.maximumInlineLength {
          throw Obstacle(reason: "the default value of \(name) is too large to lie in a row")
        }
      }
    }
  }

  /// Relationships that there were stay as they were; those that come have no members.
  private static func requireRelationships(
    _ change: MigrationPlan.Entity, _ plan: MigrationPlan
  ) throws(Obstacle) {
    let (old, new) = (change.source, change.destination)
    let kept = Dictionary(uniqueKeysWithValues: new.relationships.map { ($0.qualifiedName, $0) })
    for relationship in old.relationships {
      guard let later = kept[relationship.qualifiedName],
        Shape(relationship, plan.source) == Shape(later, plan.destination)
      else { throw Obstacle(reason: "\(relationship.qualifiedName) changes") }
    }
    let earlier = Set(old.relationships.map(\.qualifiedName))
    for later in new.relationships where !earlier.contains(later.qualifiedName) && !later.isTransient {
      let told = (change.toOne + change.toMany).first { $0.relationship.number == later.number }
      guard told?.paths.isEmpty ?? true,
        later.inverse.map({ !isKept(plan.destination.relationships[$0], plan) }) ?? true
      else { throw Obstacle(reason: "\(later.qualifiedName) begins with members") }
    }
  }

  private static func isKept(_ relationship: RelationshipSchema, _ plan: MigrationPlan) -> Bool {
    plan.source.relationships.contains { $0.qualifiedName == relationship.qualifiedName }
  }

  /// What decides how members are stored.
  private struct Shape: Equatable {
    let (isToMany, isOrdered, isTransient, isInverseToOne): (Bool, Bool, Bool, Bool)
    let destination: String
    let inverse: String?

    init(_ relationship: RelationshipSchema, _ schema: Schema) {
      isToMany = relationship.isToMany
      isOrdered = relationship.isOrdered
      isTransient = relationship.isTransient
      isInverseToOne = relationship.isInverseToOne
      destination = schema.entities[relationship.destination].name
      inverse = relationship.inverse.map { schema.relationships[$0].qualifiedName }
    }

    static func == (a: Self, b: Self) -> Bool {
      a.isToMany == b.isToMany && a.isOrdered == b.isOrdered && a.isTransient == b.isTransient
        && a.isInverseToOne == b.isInverseToOne && a.destination == b.destination && a.inverse == b.inverse
    }
  }

  /// A constraint that comes has to be compared with all rows.
  private static func requireConstraints(_ plan: MigrationPlan) throws(Obstacle) {
    func constraints(_ schema: Schema) -> Set<String> {
      Set(schema.indexes.filter(\.isUnique).map { $0.name + "\n" + $0.signature })
    }
    let known = constraints(plan.source)
    let entities = Set(plan.entities.compactMap { $0?.destination.number })
    for index in plan.destination.indexes
    where index.isUnique && !known.contains(index.name + "\n" + index.signature) {
      let concerned = plan.destination.entities[index.owner].subtree.contains { entities.contains($0) }
      if concerned { throw Obstacle(reason: "\(index.name) has to be compared with all rows") }
    }
  }

  /// What older rows show from now on, in slots that they lack.
  private static func fill(
    _ change: MigrationPlan.Entity, _ layouts: KnownLayouts
  ) throws(Obstacle) -> RowFills.Fill {
    let (old, new, catalogue) = (change.source, change.destination, layouts.catalogue)
    let earlier = catalogue.fills[catalogue.entityCodes[old.number]]
    let numbers = layouts.numbers(of: old)
    let known: [AttributeValue]
    do { known = try earlier?.values(catalogue.layouts, for: old) ?? old.defaults } catch {
      throw unreadable(old, error)
    }
    var values = [AttributeValue](repeating: .null, count: new.attributes.count)
    var origins = [Int](repeating: -1, count: new.attributes.count)
    for (slot, attribute) in new.attributes.enumerated() where new.layout.kind(of: slot) != .transient {
      if attribute.relationship != nil {
        origins[slot] = old.relationships.first { $0.name == attribute.name }?.slot ?? -1
        continue
      }
      switch change.values[slot] {
      case .slot(let origin, _): (values[slot], origins[slot]) = (known[origin], origin)
      case .constant(let value): values[slot] = value
      }
    }
    for slot in values.indices
    where RowEncoder.variableLength(of: values[slot]) > RowFormat.maximumInlineLength {
      // A default value that came with its entity: all rows have the slot. Those that come later are small.
      for number in numbers where try !hasSlot(number, slot, new, catalogue) {
        throw Obstacle(reason: "a default value of \(new.name) is too large to lie in a row")
      }
      values[slot] = .null
    }
    for number in numbers { try requireSameMeaning(number, origins, values, change, catalogue) }
    if numbers.contains(where: { catalogue.layouts[$0]?.signature == new.layout.signature }) {
      throw Obstacle(reason: "\(old.name) comes back to names that it had before")
    }
    return RowFills.Fill(entityName: new.name, layoutNumbers: numbers, values: values)
  }

  /// Whether rows of a layout have a value of their own for an attribute.
  private static func hasSlot(
    _ number: UInt16, _ slot: Int, _ entity: EntitySchema, _ catalogue: StoreCatalogue
  ) throws(Obstacle) -> Bool {
    guard let layout = catalogue.layouts[number] else { return false }
    do {
      let transcoder = try RowTranscoder(from: layout, to: entity.layout, defaults: entity.defaults)
      return transcoder.source(of: slot) != nil
    } catch { throw unreadable(entity, error) }
  }

  private static func unreadable(_ entity: EntitySchema, _ error: RowError) -> Obstacle {
    Obstacle(
      reason: "rows of \(entity.name) cannot be read in another layout: \(error.words(in: entity))")
  }

  /// Rows of an earlier layout are read by names: these must lead to the same values as by way of the layout of now.
  private static func requireSameMeaning(
    _ number: UInt16, _ origins: [Int], _ values: [AttributeValue], _ change: MigrationPlan.Entity,
    _ catalogue: StoreCatalogue
  ) throws(Obstacle) {
    let (old, new) = (change.source, change.destination)
    guard let layout = catalogue.layouts[number] else {
      throw Obstacle(reason: "a layout of \(old.name) is missing")
    }
    let (before, after): (RowTranscoder, RowTranscoder)
    do { before = try catalogue.transcoder(from: layout, number: number, entity: old.number) } catch {
      throw unreadable(old, error)
    }
    do { after = try RowTranscoder(from: layout, to: new.layout, defaults: new.defaults) } catch {
      throw unreadable(new, error)
    }
    for slot in origins.indices where new.layout.kind(of: slot) != .transient {
      let expected = origins[slot] < 0 ? nil : before.source(of: origins[slot])
      guard after.source(of: slot) == expected else {
        throw Obstacle(reason: "\(new.name).\(new.attributes[slot].name) had another meaning before")
      }
    }
    try requireRoom(layout, after, values, new)
  }

  /// What old rows show by default has to fit into them: where it may not, values must be moved out of the rows.
  private static func requireRoom(
    _ old: RowLayout, _ transcoder: RowTranscoder, _ values: [AttributeValue], _ entity: EntitySchema
  ) throws(Obstacle) {
    let layout = entity.layout
    var (most, growth) = (layout.fixedEnd, layout.fixedEnd - old.fixedEnd)
    for slot in layout.variableSlots.map({ Int($0) }) {
      if transcoder.source(of: slot) == nil {
        let length = RowEncoder.variableLength(of: values[slot])
        most += length
        growth += length
      } else {
        most += layout.kind(of: slot) == .decimal ? DecimalBytes.maximumLength : RowFormat.maximumInlineLength
      }
    }
    if growth > 0, most > RowFormat.maximumRowLength {
      throw Obstacle(reason: "rows of \(entity.name) may become too long")
    }
  }
}

/// The layouts that rows of a store's entities may be in, as far as the store tells.
///
/// A renaming identifier that comes or goes makes another layout with slots of the same names and kinds, and no other version of the model: nothing is noted of it.
private struct KnownLayouts {
  let catalogue: StoreCatalogue
  /// By the names and kinds of their slots, in ascending order.
  private let numbersByShape: [Set<String>: [UInt16]]

  init(_ catalogue: StoreCatalogue) {
    self.catalogue = catalogue
    numbersByShape = Dictionary(grouping: catalogue.layouts.keys.sorted()) { number in
      catalogue.layouts[number].map(Self.shape) ?? []
    }
  }

  private static func shape(_ layout: RowLayout) -> Set<String> {
    Set(layout.slots.map { "\($0.kind.letter)\($0.name)" })
  }

  /// Those of one entity, the oldest first as far as it is known.
  func numbers(of entity: EntitySchema) -> [UInt16] {
    let own = catalogue.layoutNumbers[entity.number]
    var numbers = catalogue.fills[catalogue.entityCodes[entity.number]]?.layoutNumbers ?? []
    for number in numbersByShape[Self.shape(entity.layout)] ?? [] where number != own {
      if !numbers.contains(number) { numbers.append(number) }
    }
    return numbers.contains(own) ? numbers : numbers + [own]
  }

  /// Layouts never leave a store: where there are others than those of its entities, and nothing tells whose they were, rows may be in any of them.
  func requireAll() throws(InPlaceChange.Obstacle) {
    let known = Set(catalogue.schema.entities.flatMap { numbers(of: $0) })
    if known.isSuperset(of: catalogue.layouts.keys) { return }
    throw InPlaceChange.Obstacle(
      reason: "the store was opened with another model whose version was ignored")
  }
}
