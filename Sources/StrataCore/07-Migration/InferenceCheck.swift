/// Finds what keeps a migration from being inferred (rule 307): each reason names the thing it is about.
struct InferenceCheck {
  private let pairing: ModelPairing
  private var found: [String] = []

  init(_ pairing: ModelPairing) { self.pairing = pairing }

  /// All reasons, each once, in the order of the later model; none when it can be inferred.
  func reasons() -> [String] {
    var check = self
    check.found += pairing.conflicts
    for pair in pairing.pairs {
      let composites = CompositePairing(pair)
      for attribute in pair.attributes { check.checkAttribute(attribute, pair, composites) }
      for relationship in pair.relationships { check.checkRelationship(relationship, pair) }
    }
    check.checkHierarchies()
    var seen = Set<String>()
    return check.found.filter { seen.insert($0).inserted }
  }

  // MARK: Attributes

  private mutating func checkAttribute(
    _ attribute: ModelPairing.PropertyPair, _ pair: ModelPairing.EntityPair, _ composites: CompositePairing
  ) {
    // What is derived is computed, what is transient is not stored.
    guard let new = attribute.destination.property as? AttributeDescription,
      !attribute.destination.isTransient, !(new is DerivedAttributeDescription)
    else { return }
    let source = attribute.source?.isTransient == false ? attribute.source : nil
    let old = source?.property as? AttributeDescription
    let place = attribute.destination.place(in: pair.destination)
    let reason: String?
    if let new = new as? CompositeAttributeDescription {
      let isNeeded = composites.rowsMayHaveOwner(of: attribute.destination)
      reason = self.reason(from: old, to: new, isNeeded: isNeeded)
    } else {
      let isMandatory =
        !new.isOptional && new.defaultValue == nil
        && composites.rowsMayHaveOwner(of: attribute.destination)
      reason = self.reason(from: old, to: new, isMandatory: isMandatory)
    }
    if let reason { found.append("\(place) \(reason)") }
  }

  private func reason(
    from old: AttributeDescription?, to new: AttributeDescription, isMandatory: Bool
  ) -> String? {
    guard let old else { return isMandatory ? "is new and mandatory, and has no default value" : nil }
    if old.attributeType != new.attributeType, !isWider(new, than: old) {
      let (type, before) = (new.attributeType, old.attributeType)
      return "\(Self.otherType) \(type), it was \(before)\(Self.misfits(before, type))"
    }
    if old.attributeType == .transformable, transformer(old) != transformer(new) {
      return "has another transformer"
    }
    return isMandatory && old.isOptional ? "becomes mandatory, and has no default value" : nil
  }

  /// How the reason begins that an attribute's type is another one.
  static let otherType = "has another type:"

  /// Which numbers there may be that the later type has no room for; empty where one of both is no number.
  private static func misfits(_ old: AttributeType, _ new: AttributeType) -> String {
    guard old.isNumber else { return "" }
    func between(_ least: Int64, _ most: Int64) -> String {
      ", with no room for numbers below \(least) or above \(most)\(old.isInteger ? "" : ", and for fractions")"
    }
    switch new {
    case .integer16: return between(Int64(Int16.min), Int64(Int16.max))
    case .integer32: return between(Int64(Int32.min), Int64(Int32.max))
    case .integer64: return between(.min, .max)
    case .float: return ", with no room for more than 7 digits"
    case .double: return ", with no room for more than 15 digits"
    default: return ""
    }
  }

  /// Whether every number that `old` can have is one of `new`, too.
  private func isWider(_ new: AttributeDescription, than old: AttributeDescription) -> Bool {
    guard let kind = SlotKind(old.attributeType), let other = SlotKind(new.attributeType) else {
      return false
    }
    return kind.widens(to: other)
  }

  /// A composite attribute is its elements, which are asked for themselves. It has to be told only what they do not tell.
  private func reason(
    from old: AttributeDescription?, to new: CompositeAttributeDescription, isNeeded: Bool
  ) -> String? {
    guard let old else {
      let isMissing =
        isNeeded && !new.isOptional && !new.hasMandatoryElement && !new.hasDefaultValue
      return isMissing ? "is new and mandatory, and has no default value" : nil
    }
    guard let composite = old as? CompositeAttributeDescription else {
      return "has another type: \(new.attributeType), it was \(old.attributeType)"
    }
    return CompositePairing.reason(from: composite, to: new)
  }

  private func transformer(_ attribute: AttributeDescription) -> String? {
    attribute.valueTransformerName.flatMap { AttributeTransformers.secureNames.contains($0) ? nil : $0 }
  }

  // MARK: Relationships

  private mutating func checkRelationship(
    _ relationship: ModelPairing.PropertyPair, _ pair: ModelPairing.EntityPair
  ) {
    guard let new = relationship.destination.property as? RelationshipDescription, !new.isTransient,
      let old = relationship.source?.property as? RelationshipDescription, !old.isTransient
    else { return }
    let place = relationship.destination.place(in: pair.destination)
    if old.isToMany && !new.isToMany { found.append("\(place) was to-many and becomes to-one") }
    if let target = old.destinationEntity, let newTarget = new.destinationEntity {
      for entity in target.withSubentities {
        guard let kept = pairing.destination(of: entity), !kept.isKindOf(entity: newTarget) else { continue }
        found.append(
          "\(place) led to \(target.name ?? "") and leads to \(newTarget.name ?? ""), which \(kept.name ?? "") is none of"
        )
        break
      }
    }
    guard let newInverse = new.inverseRelationship else { return }
    let origins = self.origins(of: newInverse)
    if !origins.isEmpty
      && !origins.contains(where: { $0.inverseRelationship === old && old.inverseRelationship === $0 })
    {
      found.append("\(place) and its inverse \(newInverse.name) were no inverses of each other")
    }
  }

  /// What the relationship was before, in whatever entity.
  private func origins(of relationship: RelationshipDescription) -> [RelationshipDescription] {
    pairing.pairs.flatMap(\.relationships).compactMap { pair in
      guard pair.destination.property === relationship else { return nil }
      return pair.source?.property as? RelationshipDescription
    }.filter { !$0.isTransient }
  }

  // MARK: Hierarchies

  /// Primary keys are unique in a hierarchy: the rows of two cannot become rows of one and keep their IDs.
  private mutating func checkHierarchies() {
    var roots: [(new: EntityDescription, old: EntityDescription)] = []
    for pair in pairing.pairs {
      let (new, old) = (pair.destination.root, pair.source.root)
      if let known = roots.first(where: { $0.new === new }) {
        if known.old !== old {
          found.append(
            "the hierarchies of \(known.old.name ?? "") and \(old.name ?? "") become one, that of \(new.name ?? "")"
          )
        }
      } else {
        roots.append((new, old))
      }
    }
  }
}

extension SlotKind {
  /// Whether every value of this kind is one of another kind, too, without loss.
  func widens(to other: SlotKind) -> Bool {
    switch (self, other) {
    case (.int16, .int32), (.int16, .int64), (.int32, .int64): true
    case (.int16, .double), (.int32, .double), (.float, .double): true
    default: false
    }
  }
}

extension AttributeValue {
  /// The same number as a value of a kind that is as wide or wider, see ``SlotKind/widens(to:)``.
  func widened(to kind: SlotKind) -> AttributeValue {
    switch (self, kind) {
    case (.integer(let number), .double): .double(Double(number))
    case (.float(let number), .double): .double(Double(number))
    default: self
    }
  }
}

extension EntityDescription {
  /// The entity and everything below it.
  var withSubentities: [EntityDescription] {
    var result = [self]
    var next = 0
    while next < result.count, next < 10_000 {
      result += result[next].subentities
      next += 1
    }
    return result
  }

  /// The topmost entity it inherits from, or itself.
  var root: EntityDescription {
    var entity = self
    var steps = 0
    while let parent = entity.superentity, steps < 10_000 {
      entity = parent
      steps += 1
    }
    return entity
  }
}
