import Foundation

// Composite attributes. Their elements are slots of their own, so everything that compares, merges, undoes or saves works
// element by element; the composite itself is only a way of reading and setting several of them at once.

extension ManagedObject {
  /// The value of an attribute that is neither a relationship nor asked for by slot: what key-value coding hands out. The fault
  /// has been fired, or must not be.
  final func keyedValue(_ slot: Int) -> Any? {
    // Nothing of the attribute is copied: this is on the way of every read by key.
    let entity = home.entity
    switch entity.attributes[slot].type {
    case .composite: return compositeValue(entity.attributes[slot]) { keyedValue($0) }
    case .transformable where !entity.attributes[slot].isTransient:
      return reported { try transformedValue(slot) }
    default:
      if transients != nil, let refused = refusedValue(slot) { return refused }
      return entity.attributes[slot].isTransient ? handedOutTransient(slot) : handedOut(storedValue(slot))
    }
  }

  /// Sets a composite, transformable or element attribute; `isPrimitive` without notifying observers.
  final func setKeyedValue(_ value: Any?, _ slot: Int, isPrimitive: Bool) {
    let attribute = home.entity.attributes[slot]
    switch attribute.type {
    case .composite: setComposite(value, attribute, isPrimitive: isPrimitive)
    case .transformable where !attribute.isTransient:
      setTransformed(value, slot, isPrimitive: isPrimitive)
    default:
      if attribute.isTransient {
        if isPrimitive { storeTransient(value, slot) } else { setTransient(value, slot) }
        return
      }
      requireSettable(slot)
      var refusal: (() -> Void)?
      let converted: AttributeValue
      if let fitting = AttributeValue(value, type: attribute.type) {
        converted = fitting
      } else {
        (converted, refusal) = unfitting(value, attribute)
      }
      if isPrimitive { setPrimitive(slot, converted) } else { edit(slot, converted) }
      refusal?()
    }
  }

  /// The elements that have a value; nil when none has.
  final func compositeValue(_ attribute: AttributeSchema, _ value: (Int) -> Any?) -> [String: Any]? {
    var result: [String: Any] = [:]
    for slot in attribute.elements {
      let element = home.entity.attributes[slot]
      let found = element.type == .composite ? compositeValue(element, value) : value(slot)
      if let found { result[element.elementName] = found }
    }
    return result.isEmpty ? nil : result
  }

  /// Sets every element: those that `value` does not name become nil.
  private final func setComposite(_ value: Any?, _ attribute: AttributeSchema, isPrimitive: Bool) {
    var values: [String: Any] = [:]
    if let value, !isNilValue(value) {
      guard let dictionary = FoundationCollections.castable(value) as? [AnyHashable: Any] else {
        trap(
          "\(home.token.entityName).\(attribute.name) is composite and takes a dictionary, not \(type(of: value))."
        )
      }
      for (key, value) in dictionary {
        guard let name = key.base as? String else {
          trap(
            "\(home.token.entityName).\(attribute.name) takes a dictionary with names as keys, not \(key).")
        }
        values[name] = value
      }
    }
    for slot in attribute.elements {
      let element = home.entity.attributes[slot]
      let part = values.removeValue(forKey: element.elementName)
      setKeyedValue(part is NSNull ? nil : part, slot, isPrimitive: isPrimitive)
    }
    if let stranger = values.keys.sorted().first {
      trap("\(home.token.entityName).\(attribute.name) has no element “\(stranger)”.")
    }
  }

  // MARK: Validation

  /// Required composites without any value, and elements that lack one although their composite has another.
  final func compositeFailures() -> [CoreDataError] {
    // A fault of which only relationships have changed has the values it was saved with.
    if draft == nil, snapshot == nil { return [] }
    let attributes = home.entity.attributes
    var failures: [CoreDataError] = []
    func isEmpty(_ attribute: AttributeSchema) -> Bool {
      if attribute.type == .composite { return attribute.elements.allSatisfy { isEmpty(attributes[$0]) } }
      if attribute.isTransient { return transientValue(attribute.slot) == nil }
      return storedValue(attribute.slot).isNull && !isRefused(attribute.slot)
    }
    func check(_ attribute: AttributeSchema) {
      if isEmpty(attribute) {
        if !attribute.isOptional { failures.append(missing(attribute)) }
        return
      }
      // Where the composite has a value, its required elements must.
      for slot in attribute.elements where attributes[slot].type == .composite || isEmpty(attributes[slot]) {
        check(attributes[slot])
      }
    }
    for attribute in attributes where attribute.type == .composite && attribute.composite == nil {
      check(attribute)
    }
    return failures
  }

  private final func missing(_ attribute: AttributeSchema) -> CoreDataError {
    failure(.validationMissingMandatoryProperty, attribute.name, nil, "is a required value")
  }

  // MARK: Key paths

  /// The value at the end of a key path through to-one relationships and composite attributes, such as `home.address.city`;
  /// nil where it ends early. Fires faults. Traps for a key that does not exist, as `value(forKey:)` does.
  public final func value(forKeyPath path: String) -> Any? {
    guard home.entity.slot(named: path) == nil, let dot = path.firstIndex(of: ".") else {
      return value(forKey: path)
    }
    let (head, rest) = (String(path[..<dot]), String(path[path.index(after: dot)...]))
    switch value(forKey: head) {
    case nil: return nil
    case let object as ManagedObject: return object.value(forKeyPath: rest)
    default: return value(forUndefinedKey: path)
    }
  }

  /// Sets the value at the end of a key path; nothing happens where the path ends early. See `value(forKeyPath:)`.
  public final func setValue(_ value: Any?, forKeyPath path: String) {
    guard home.entity.slot(named: path) == nil, let dot = path.firstIndex(of: ".") else {
      setValue(value, forKey: path)
      return
    }
    let (head, rest) = (String(path[..<dot]), String(path[path.index(after: dot)...]))
    switch self.value(forKey: head) {
    case nil: return
    case let object as ManagedObject: object.setValue(value, forKeyPath: rest)
    default: setValue(value, forUndefinedKey: path)
    }
  }
}

extension AttributeSchema {
  /// The last part of an element's key path.
  var elementName: String { name.lastIndex(of: ".").map { String(name[name.index(after: $0)...]) } ?? name }
}
