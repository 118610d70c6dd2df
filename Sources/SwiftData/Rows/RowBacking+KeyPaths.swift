import StrataCore

extension RowBacking: KeyPathStandIn {
  static func propertyName(of keyPath: AnyKeyPath) -> String? {
    ModelDescriptor.of(Model.self).path(for: keyPath)
  }

  // A key path through an optional cannot be put together to be compared. Its description names fields that are stored, and tells everything computed by its code.
  static func element(ofComposite name: String, at keyPath: AnyKeyPath) -> String? {
    guard let property = ModelDescriptor.of(Model.self).property(named: name),
      case .attribute(let storage) = property.kind, case .composite(let shape) = storage.form
    else { return nil }
    // `\Trip.<computed 0x00005586a0ba81f0 (Optional<Place>)>` and `\Trip.<computed 0x00005586a0ba81f0 (Optional<Place>)>?.spot?.latitude?`
    let own = property.keyPath.debugDescription
    let whole = keyPath.debugDescription
    guard let code = own.range(of: "<computed ").map({ own[$0.lowerBound...] }),
      let place = whole.range(of: code, options: .backwards)
    else { return nil }
    let rest = whole[place.upperBound...]
    if rest.contains("<") { return nil }
    let names = rest.split(separator: ".").map { $0.filter { $0 != "?" && $0 != "!" } }.filter { !$0.isEmpty }
    return shape.elementName(ofProperties: names[...])
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
