/// The composite attributes of an entity, with what they were in the earlier model: an element's rules depend on whether rows have what it is part of.
struct CompositePairing {
  /// A composite attribute of the later model.
  struct Composite {
    let description: CompositeAttributeDescription
    /// The slot that it was; nil when it is new, or was not stored as a composite attribute.
    let source: SlotDescription?
  }

  /// By name or key path in the later model.
  private let composites: [String: Composite]

  init(_ pair: ModelPairing.EntityPair) {
    var composites: [String: Composite] = [:]
    for attribute in pair.attributes {
      guard let description = attribute.destination.property as? CompositeAttributeDescription else {
        continue
      }
      let source = attribute.source.flatMap { source in
        source.property is CompositeAttributeDescription && !source.isTransient ? source : nil
      }
      composites[attribute.destination.name] = Composite(description: description, source: source)
    }
    self.composites = composites
  }

  /// What a slot is part of, the innermost first; nothing for one that is no element.
  private func owners(of slot: SlotDescription) -> [Composite] {
    var found: [Composite] = []
    var name = slot.name[...]
    // No name has a dot, key paths have one before each element.
    while let dot = name.lastIndex(of: "."), found.count < slot.depth {
      name = name[..<dot]
      if let owner = composites[String(name)] { found.append(owner) }
    }
    return found
  }

  /// Whether rows may have what a slot is part of, so that what is mandatory there must have a value.
  func rowsMayHaveOwner(of slot: SlotDescription) -> Bool {
    for owner in owners(of: slot) {
      if owner.source != nil { return true }
      if owner.description.mayBeNil { return false }
    }
    return true
  }

  /// The composite attribute of the earlier model that decides whether an element gets its default value: where it is nil it stays nil. Nil when all rows get it.
  func guardian(of slot: SlotDescription) -> SlotDescription? {
    owners(of: slot).first { $0.source != nil && $0.description.mayBeNil }?.source
  }

  /// Why values of a composite attribute may be missing from now on, the end of a sentence about it; nil when they may not. For an attribute that was one before.
  static func reason(
    from old: CompositeAttributeDescription, to new: CompositeAttributeDescription
  ) -> String? {
    let becomesMandatory: Bool
    if let isNullable = new.isNullable {
      // Stores of before it was noted do not tell.
      becomesMandatory = old.isNullable == true && !isNullable && new.hasMandatoryElement
    } else {
      becomesMandatory = old.isOptional && !new.isOptional
    }
    return becomesMandatory && !new.hasDefaultValue ? Self.becomesMandatory : nil
  }

  /// The end of a sentence about an attribute of which values may be missing from now on.
  static let becomesMandatory = "becomes mandatory, and has no default value"
}

extension ModelPairing {
  /// Why rows of the one model are not complete in the other, where the two are of one version: a sentence for each composite attribute that could be nil and may
  /// not be any more.
  var reasonsWithinVersion: [String] {
    pairs.flatMap { pair in
      pair.attributes.compactMap { attribute -> String? in
        guard let old = attribute.source, let source = old.property as? CompositeAttributeDescription,
          let destination = attribute.destination.property as? CompositeAttributeDescription,
          !old.isTransient, !attribute.destination.isTransient,
          let reason = CompositePairing.reason(from: source, to: destination)
        else { return nil }
        return "\(attribute.destination.place(in: pair.destination)) \(reason)"
      }
    }
  }
}

extension EntityDescription {
  /// Whether a composite attribute of it must have a value although its version does not say so, and has no default value.
  var needsNotedValues: Bool {
    propertiesBySlot.contains { property in
      guard let composite = property as? CompositeAttributeDescription, !composite.isTransient else {
        return false
      }
      return composite.needsNotedValue
    }
  }
}

extension CompositeAttributeDescription {
  /// The same of it and of its elements.
  fileprivate var needsNotedValue: Bool {
    SlotDescription.slots(of: self).contains { slot in
      guard let composite = slot.property as? CompositeAttributeDescription else { return false }
      return composite.isNullable == false && composite.hasMandatoryElement && !composite.hasDefaultValue
    }
  }
}

extension SlotDescription {
  /// What a sentence calls it: `Entity.property`, by the entity that declares it.
  func place(in entity: EntityDescription) -> String {
    "\(property.entity?.name ?? entity.name ?? "").\(name)"
  }
}
