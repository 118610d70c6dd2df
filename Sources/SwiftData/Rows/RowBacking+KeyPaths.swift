import StrataCore

extension RowBacking: KeyPathStandIn {
  static func propertyName(of keyPath: AnyKeyPath) -> String? {
    ModelDescriptor.of(Model.self).path(for: keyPath)
  }

  static func element(ofComposite name: String, following follow: () throws -> Any) throws -> String? {
    guard case .attribute(let storage) = ModelDescriptor.of(Model.self).property(named: name)?.kind,
      case .composite(let shape) = storage.form
    else { return nil }
    return try CompositeMarks(shape).name(follow)
  }

  static var subjectType: Any.Type { Model.self }

  var keyPathSubject: Any { model }

  func isSubject(_ value: Any) -> Bool { value is any PersistentModel || value is PersistentIdentifier }

  func isOwnIdentifier(_ value: Any) -> Bool {
    (value as? PersistentIdentifier).map { $0 == rowIdentifier } ?? false
  }
}
