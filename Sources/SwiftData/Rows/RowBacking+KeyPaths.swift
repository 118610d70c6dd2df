import StrataCore

extension RowBacking: KeyPathStandIn {
  static func propertyName(of keyPath: AnyKeyPath) -> String? {
    ModelDescriptor.of(Model.self).path(for: keyPath)
  }

  static var subjectType: Any.Type { Model.self }

  var keyPathSubject: Any { model }

  func isSubject(_ value: Any) -> Bool { value is any PersistentModel || value is PersistentIdentifier }

  func isOwnIdentifier(_ value: Any) -> Bool {
    (value as? PersistentIdentifier).map { $0 == rowIdentifier } ?? false
  }
}
