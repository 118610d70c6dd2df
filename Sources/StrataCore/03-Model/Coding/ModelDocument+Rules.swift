extension ModelDocument {
  /// A rule of a property. Predicates are code and not kept.
  struct Rule: Codable, Equatable {
    enum Kind: String, Codable {
      case minimum, maximum, minimumLength, maximumLength, pattern
    }

    var kind: Kind
    /// The bound of a minimum or maximum.
    var bound: ValueDocument?
    var length: Int?
    var pattern: String?
    var warning: String?
  }

  /// The rules that can be kept, in their order; nil when there are none.
  static func rules(of property: PropertyDescription) -> [Rule]? {
    let rules = property.validationRules.compactMap { rule -> Rule? in
      switch rule.condition {
      case .minimum(let bound): Rule(kind: .minimum, bound: ValueDocument(bound), warning: rule.warning)
      case .maximum(let bound): Rule(kind: .maximum, bound: ValueDocument(bound), warning: rule.warning)
      case .minimumLength(let length): Rule(kind: .minimumLength, length: length, warning: rule.warning)
      case .maximumLength(let length): Rule(kind: .maximumLength, length: length, warning: rule.warning)
      case .pattern(let pattern): Rule(kind: .pattern, pattern: pattern, warning: rule.warning)
      case .predicate: nil
      }
    }
    return rules.isEmpty ? nil : rules
  }

  /// The rules of the property called `name`.
  ///
  /// - Throws: `ModelError` for a rule that lacks what it needs.
  func makeRules(_ documents: [Rule]?, of name: String) throws(ModelError) -> [ValidationRule] {
    var rules: [ValidationRule] = []
    for document in documents ?? [] {
      let condition: ValidationRule.Condition? =
        switch document.kind {
        case .minimum: document.bound.map { .minimum($0.value) }
        case .maximum: document.bound.map { .maximum($0.value) }
        case .minimumLength: document.length.map { .minimumLength($0) }
        case .maximumLength: document.length.map { .maximumLength($0) }
        case .pattern: document.pattern.map { .pattern($0) }
        }
      guard let condition else { throw ModelError("A rule of \(name) lacks what it demands.") }
      rules.append(ValidationRule(condition, warning: document.warning))
    }
    return rules
  }
}

extension ManagedObjectModel {
  /// Gives entity `name` the computed properties it has in `model`.
  func takeComputed(ofEntity name: String, from model: ManagedObjectModel) {
    let computed = model.entitiesByName[name]?.ownProperties.compactMap { $0.copyOfComputed() } ?? []
    if !computed.isEmpty { entitiesByName[name]?.properties += computed }
  }

  /// Gives the properties of entity `name` the rules they have in `model`, predicates included.
  func takeRules(ofEntity name: String, from model: ManagedObjectModel) {
    guard let entity = entitiesByName[name], let source = model.entitiesByName[name] else { return }
    // Elements of composite attributes are among them, by their key paths.
    let own = Dictionary(
      entity.ownSlotDescriptions.map { ($0.name, $0.property) }, uniquingKeysWith: { first, _ in first })
    for slot in source.ownSlotDescriptions where !slot.property.validationRules.isEmpty {
      own[slot.name]?.validationRules = slot.property.validationRules
    }
  }
}
