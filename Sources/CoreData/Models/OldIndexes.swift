import StrataCore

// Indexes as models asked for them before there were index descriptions. Core Data calls these names deprecated.

extension NSPropertyDescription {
  /// Whether there is an index over this attribute alone. Setting it adds or takes away such an index.
  ///
  /// References are kept in order anyway: for relationships it changes nothing. Traps after the model was taken into use.
  public var isIndexed: Bool {
    get { wantsIndex || entity?.indexes.contains { $0.elements.map(\.propertyName) == [name] } == true }
    set { wantsIndex = newValue }
  }
}

extension NSEntityDescription {
  /// Indexes over several properties: lists of names. Setting takes lists of names or of `NSPropertyDescription`s and replaces those that were set
  /// before, or read from a model's `compoundIndexes`; other indexes stay.
  ///
  /// To-many relationships are left out of a list, and so is a list of nothing but relationships, as references are kept in order anyway. Traps after the model was taken into use.
  public var compoundIndexes: [[Any]] {
    get { indexes.filter(\.isCompound).map { $0.elements.map(\.propertyName) } }
    set {
      var names: [[String]] = []
      for list in newValue {
        let properties = list.map { element -> String in
          if let name = element as? String { return name }
          if let property = element as? NSPropertyDescription { return property.name }
          stop(
            "compoundIndexes takes names of properties and NSPropertyDescriptions, no \(type(of: element)).")
        }
        let kept = properties.filter {
          (propertiesByName[$0] as? NSRelationshipDescription)?.isToMany != true
        }
        let hasAttribute = kept.contains { !(propertiesByName[$0] is NSRelationshipDescription) }
        if hasAttribute, !names.contains(kept) { names.append(kept) }
      }
      indexes =
        indexes.filter { !$0.isCompound }
        + names.map {
          NSFetchIndexDescription(name: "compound(\($0.joined(separator: ",")))", attributes: $0)
        }
    }
  }
}

extension NSFetchIndexDescription {
  /// By the name that such indexes have in models that are read from files, too.
  fileprivate var isCompound: Bool { name.hasPrefix("compound(") && name.hasSuffix(")") }
}
