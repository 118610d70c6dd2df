// Indexes of all of Xcode's ages, and uniqueness constraints.
extension XcodeModelReader {
  mutating func readKeys(of entity: EntityDescription, from element: XcodeElement) {
    guard isSound else { return }
    let properties = entity.propertiesByName
    var indexes: [FetchIndexDescription] = []
    for child in element.children(named: "fetchIndex") {
      if let index = readIndex(child, of: entity, properties) { indexes.append(index) }
    }
    indexes += readOldIndexes(of: entity, from: element, properties)
    entity.indexes = indexes
    entity.uniquenessConstraints = readConstraints(of: entity, from: element)
  }

  /// Nil for an index of nothing but relationships: their references are kept in order anyway.
  private mutating func readIndex(
    _ element: XcodeElement, of entity: EntityDescription, _ properties: [String: PropertyDescription]
  ) -> FetchIndexDescription? {
    guard let name = name(of: element, "An index of \(entity.name ?? "")") else { return nil }
    let place = "Index \(entity.name ?? "").\(name)"
    var elements: [FetchIndexElementDescription] = []
    let children = element.children(named: "fetchIndexElement")
    for child in children {
      guard let property = text("property", of: child) else {
        report(child, "\(place) is over an expression; only properties can be indexed.")
        continue
      }
      let collation: FetchIndexElementType
      switch child.attributes["type"] {
      case nil, "Binary", "binary": collation = .binary
      case "RTree", "R-Tree", "rTree": collation = .rTree
      case let other?:
        report(child, "\(place) has type=\(quoted(other)) for \(property.prefix(300)), which is not known.")
        continue
      }
      if let relationship = properties[property] as? RelationshipDescription, relationship.isToMany {
        continue
      }
      elements.append(
        FetchIndexElementDescription(
          propertyName: property, collationType: collation, isAscending: isAscending(child, place)))
    }
    if !children.isEmpty, elements.allSatisfy({ properties[$0.propertyName] is RelationshipDescription }) {
      return nil
    }
    let index = FetchIndexDescription(name: name, elements: elements)
    if let predicate = text("partialIndexPredicate", of: element) {
      indexPredicates.append(
        XcodeIndexPredicate(index: index, place: place, text: predicate, line: element.line))
    }
    return index
  }

  private mutating func isAscending(_ element: XcodeElement, _ place: String) -> Bool {
    switch element.attributes["order"] {
    case nil, "ascending": return true
    case "descending": return false
    case let other?:
      report(element, "\(place) has order=\(quoted(other)), which is neither ascending nor descending.")
      return true
    }
  }

  /// `indexed="YES"` of attributes and `compoundIndexes`, which Xcode wrote before it had `fetchIndex`.
  private mutating func readOldIndexes(
    of entity: EntityDescription, from element: XcodeElement, _ properties: [String: PropertyDescription]
  ) -> [FetchIndexDescription] {
    var indexes: [FetchIndexDescription] = []
    var seen: Set<[String]> = []
    for child in element.children(named: "attribute") {
      guard let name = text("name", of: child),
        flag("indexed", of: child, "Attribute \(entity.name ?? "").\(name)") ?? false,
        let attribute = properties[name] as? AttributeDescription, !attribute.isTransient,
        attribute.reasonAgainstKeys == nil, seen.insert([name]).inserted
      else { continue }
      indexes.append(FetchIndexDescription(name: "indexed(\(name))", attributes: [name]))
    }
    for child in element.children(named: "compoundIndexes").flatMap({ $0.children(named: "compoundIndex") }) {
      let names = child.children(named: "index").compactMap { text("value", of: $0) }
      let kept = names.filter { (properties[$0] as? RelationshipDescription)?.isToMany != true }
      guard kept.contains(where: { !(properties[$0] is RelationshipDescription) }), seen.insert(kept).inserted
      else { continue }
      indexes.append(
        FetchIndexDescription(name: "compound(\(kept.joined(separator: ",")))", attributes: kept))
    }
    return indexes
  }

  private mutating func readConstraints(
    of entity: EntityDescription, from element: XcodeElement
  ) -> [[String]] {
    element.children(named: "uniquenessConstraints").flatMap { $0.children(named: "uniquenessConstraint") }
      .map { constraint in
        constraint.children(named: "constraint").compactMap { text("value", of: $0) }
      }
  }
}
