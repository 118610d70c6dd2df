/// Finds what keeps a migration from being inferred (rule 307): each reason names the thing it is about.
struct InferenceCheck {
  /// A value that rows must have from now on, and that nothing gives those that have none. Only the rows tell whether there are such.
  struct MissingValue {
    /// The attribute of the later entity.
    let attribute: SlotDescription
    /// What is said of it, a sentence without its end.
    let words: String
  }

  private let pairing: ModelPairing
  private var found: [String] = []
  private var isImpossible = false

  init(_ pairing: ModelPairing) { self.pairing = pairing }

  /// All reasons, each once, in the order of the later model; none when it can be inferred, whatever rows there are.
  func reasons() -> [String] { checked().found }

  /// The same, but none when it can be inferred as long as no row lacks a value that it must have.
  func reasonsBesidesRows() -> [String] {
    let check = checked()
    return check.isImpossible ? check.found : []
  }

  private func checked() -> InferenceCheck {
    var check = self
    check.refuse(pairing.conflicts)
    for pair in pairing.pairs {
      let composites = CompositePairing(pair)
      for attribute in pair.attributes {
        if let missing = Self.missingValue(attribute, pair, composites) { check.found.append(missing.words) }
        check.refuse(Self.misfit(attribute, pair).map { [$0] } ?? [])
      }
      for relationship in pair.relationships { check.checkRelationship(relationship, pair) }
    }
    check.checkHierarchies()
    var seen = Set<String>()
    check.found = check.found.filter { seen.insert($0).inserted }
    return check
  }

  private mutating func refuse(_ reasons: [String]) {
    found += reasons
    if !reasons.isEmpty { isImpossible = true }
  }

  /// The values that rows of an entity must have from now on, and may not have.
  static func missingValues(_ pair: ModelPairing.EntityPair) -> [MissingValue] {
    let composites = CompositePairing(pair)
    return pair.attributes.compactMap { missingValue($0, pair, composites) }
  }

  // MARK: Attributes

  /// What an attribute was and is. Nil where there is nothing to be stored: what is derived is computed, what is transient is not stored.
  private static func stored(_ attribute: ModelPairing.PropertyPair) -> (
    old: AttributeDescription?, new: AttributeDescription
  )? {
    guard let new = attribute.destination.property as? AttributeDescription,
      !attribute.destination.isTransient, !(new is DerivedAttributeDescription)
    else { return nil }
    let source = attribute.source?.isTransient == false ? attribute.source : nil
    return (source?.property as? AttributeDescription, new)
  }

  /// Why values of an attribute cannot be what they are to be.
  private static func misfit(_ attribute: ModelPairing.PropertyPair, _ pair: ModelPairing.EntityPair)
    -> String?
  {
    guard let (source, new) = stored(attribute), let old = source else { return nil }
    let place = attribute.destination.place(in: pair.destination)
    if new is CompositeAttributeDescription {
      if old is CompositeAttributeDescription { return nil }
      return "\(place) \(otherType) \(new.attributeType), it was \(old.attributeType)"
    }
    if old.attributeType != new.attributeType, !isWider(new, than: old) {
      let (type, before) = (new.attributeType, old.attributeType)
      return "\(place) \(otherType) \(type), it was \(before)\(misfits(before, type))"
    }
    if old.attributeType == .transformable, transformer(old) != transformer(new) {
      return "\(place) has another transformer\(new.transformers(since: old))"
    }
    return nil
  }

  /// What rows may lack of an attribute that they must have.
  private static func missingValue(
    _ attribute: ModelPairing.PropertyPair, _ pair: ModelPairing.EntityPair, _ composites: CompositePairing
  ) -> MissingValue? {
    guard let (old, new) = stored(attribute), misfit(attribute, pair) == nil else { return nil }
    let reason: String?
    if let composite = new as? CompositeAttributeDescription {
      // It is its elements, which are asked for themselves: only what they do not tell is to be said.
      if let old = old as? CompositeAttributeDescription {
        reason = CompositePairing.reason(from: old, to: composite)
      } else {
        let isMissing =
          !composite.isOptional && !composite.hasMandatoryElement && !composite.hasDefaultValue
        reason = isMissing ? isNew : nil
      }
    } else if new.isOptional || new.defaultValue != nil {
      reason = nil
    } else if let old {
      reason = old.isOptional ? CompositePairing.becomesMandatory : nil
    } else {
      reason = isNew
    }
    guard let reason, composites.rowsMayHaveOwner(of: attribute.destination) else { return nil }
    return MissingValue(
      attribute: attribute.destination,
      words: "\(attribute.destination.place(in: pair.destination)) \(reason)")
  }

  private static let isNew = "is new and mandatory, and has no default value"

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
  private static func isWider(_ new: AttributeDescription, than old: AttributeDescription) -> Bool {
    guard let kind = SlotKind(old.attributeType), let other = SlotKind(new.attributeType) else {
      return false
    }
    return kind.widens(to: other)
  }

  private static func transformer(_ attribute: AttributeDescription) -> String? {
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
    if old.isToMany && !new.isToMany { refuse(["\(place) was to-many and becomes to-one"]) }
    if let target = old.destinationEntity, let newTarget = new.destinationEntity {
      for entity in target.withSubentities {
        guard let kept = pairing.destination(of: entity), !kept.isKindOf(entity: newTarget) else { continue }
        refuse([
          "\(place) led to \(target.name ?? "") and leads to \(newTarget.name ?? ""), which \(kept.name ?? "") is none of"
        ])
        break
      }
    }
    guard let newInverse = new.inverseRelationship else { return }
    let origins = self.origins(of: newInverse)
    if !origins.isEmpty
      && !origins.contains(where: { $0.inverseRelationship === old && old.inverseRelationship === $0 })
    {
      refuse(["\(place) and its inverse \(newInverse.name) were no inverses of each other"])
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
          refuse([
            "the hierarchies of \(known.old.name ?? "") and \(old.name ?? "") become one, that of \(new.name ?? "")"
          ])
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

extension AttributeDescription {
  /// Both transformers, and what keeps the values where only a type's name is another one: the end of a sentence that says that it has another one.
  fileprivate func transformers(since old: AttributeDescription) -> String {
    let (name, before) = (valueTransformerName, old.valueTransformerName)
    func quoted(_ name: String?) -> String { "“\(name ?? AttributeTransformers.secureName)”" }
    let words = ": \(quoted(name)), it was \(quoted(before))"
    // The names that declarations of classes give.
    guard let name, let before, name.hasPrefix("Codable<"), before.hasPrefix("Codable<"), name.hasSuffix(">")
    else { return words }
    let type = name.dropFirst("Codable<".count).dropLast()
    return words
      + "; values of the same form stay with @Attribute(.transformer(\"\(before)\")), and AttributeTransformers.set(CodableTransformer<\(type)>(), forName: \"\(before)\") before the store is opened"
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
