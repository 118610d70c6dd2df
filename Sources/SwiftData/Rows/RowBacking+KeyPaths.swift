import StrataCore

extension RowBacking: KeyPathStandIn {
  static func propertyName(of keyPath: AnyKeyPath) -> String? {
    ModelDescriptor.of(Model.self).path(for: keyPath)
  }

  // A key path through an optional cannot be put together to be compared. Its description names fields that are stored, and tells everything computed by its code.
  static func element(
    ofComposite name: String, at keyPath: AnyKeyPath, steps: Int, following follow: () -> Any?
  ) -> String? {
    guard let property = ModelDescriptor.of(Model.self).property(named: name),
      case .attribute(let storage) = property.kind, case .composite(let shape) = storage.form
    else { return nil }
    // `\Trip.<computed 0x00005586a0ba81f0 (Optional<Place>)>` and `\Trip.<computed 0x00005586a0ba81f0 (Optional<Place>)>?.spot?.latitude?`
    let parts = keyPath.debugDescription.components(separatedBy: "<computed ")
    guard parts.count == steps + 1, let last = parts.last,
      let type = last.range(of: " (\(Swift.type(of: property.keyPath).valueType))>"),
      last[..<type.lowerBound].allSatisfy({ $0.isHexDigit || $0 == "x" })
    else { return nil }
    let rest = last[type.upperBound...]
    if rest.contains("<") { return nil }
    let names = rest.split(separator: ".").map { $0.filter { $0 != "?" && $0 != "!" } }.filter { !$0.isEmpty }
    guard let element = names.isEmpty ? "" : shape.elementName(ofProperties: names[...]) else { return nil }
    if property.keyPath.debugDescription.hasSuffix("<computed " + last[..<type.upperBound]) { return element }
    // A subclass and a protocol have code of their own for what the class declares, and so has what is computed of it.
    return shape.isHandedOut(element, of: property, following: follow) ? element : nil
  }

  // `price ?? 0` shows every price, and something else for nil.
  static func mayLead(_ keyPath: AnyKeyPath, to attribute: String) -> Bool {
    guard let property = ModelDescriptor.of(Model.self).property(named: attribute),
      type(of: property.keyPath).valueType is any OptionalType.Type
    else { return true }
    return type(of: keyPath).valueType is any OptionalType.Type || keyPath.debugDescription.hasSuffix("!")
  }

  static var subjectType: Any.Type { Model.self }

  var keyPathSubject: Any { model }

  func isSubject(_ value: Any) -> Bool { value is any PersistentModel || value is PersistentIdentifier }

  func isOwnIdentifier(_ value: Any) -> Bool {
    (value as? PersistentIdentifier).map { $0 == rowIdentifier } ?? false
  }
}
