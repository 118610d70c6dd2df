// Relationships, and what Xcode keeps beside them: fetched properties and fetch requests.
extension XcodeModelReader {
  mutating func readRelationship(
    _ element: XcodeElement, of entity: EntityDescription
  ) -> RelationshipDescription? {
    guard let name = name(of: element, "A relationship of \(entity.name ?? "")") else { return nil }
    let place = "Relationship \(entity.name ?? "").\(name)"
    guard let destinationName = text("destinationEntity", of: element) else {
      report(element, "\(place) has no destinationEntity.")
      return nil
    }
    guard let destination = byName[destinationName] else {
      report(element, "\(place) leads to entity \(destinationName.prefix(300)), which is not in the model.")
      return nil
    }
    let isToMany = flag("toMany", of: element, place) ?? false
    let maxCount = count("maxCount", of: element, place) ?? (isToMany ? 0 : 1)
    if isToMany != (maxCount != 1) {
      report(element, "\(place) is \(isToMany ? "to-many" : "to-one") and has maxCount=\"\(maxCount)\".")
    }
    let relationship = RelationshipDescription(
      name, to: destination, minCount: count("minCount", of: element, place) ?? 0, maxCount: maxCount)
    readProperty(relationship, from: element, place)
    relationship.isOrdered = flag("ordered", of: element, place) ?? false
    relationship.deleteRule = deleteRule(of: element, place)
    return relationship
  }

  private mutating func deleteRule(of element: XcodeElement, _ place: String) -> DeleteRule {
    switch element.attributes["deletionRule"] {
    case nil, "Nullify": return .nullify
    case "Cascade": return .cascade
    case "Deny": return .deny
    case "No Action": return .noAction
    case let other?:
      report(element, "\(place) has deletionRule=\(quoted(other)), which is not known.")
      return .nullify
    }
  }

  /// Ties relationships to their inverses, when all of them are there.
  mutating func linkRelationships() {
    guard isSound else { return }
    var known: [ObjectIdentifier: [String: RelationshipDescription]] = [:]
    for (_, entity) in entities {
      let own = entity.ownProperties.compactMap { $0 as? RelationshipDescription }
      known[ObjectIdentifier(entity)] = Dictionary(
        own.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
    for (element, entity) in entities {
      for child in element.children(named: "relationship") {
        guard let name = text("name", of: child), let inverseName = text("inverseName", of: child),
          let relationship = known[ObjectIdentifier(entity)]?[name]
        else { continue }
        let place = "Relationship \(entity.name ?? "").\(name)"
        let owner = text("inverseEntity", of: child).map { byName[$0] } ?? relationship.destinationEntity
        var candidate = owner
        var inverse: RelationshipDescription?
        while inverse == nil, let current = candidate {
          inverse = known[ObjectIdentifier(current)]?[inverseName]
          candidate = current.superentity
        }
        if let inverse {
          relationship.inverseRelationship = inverse
        } else {
          let entity = text("inverseEntity", of: child) ?? owner?.name ?? ""
          report(
            child,
            "\(place) has the inverse \(entity.prefix(300)).\(inverseName.prefix(300)), which is not in the model."
          )
        }
      }
    }
  }

  // MARK: Requests

  mutating func readFetchedProperty(_ element: XcodeElement, of entity: EntityDescription) {
    guard let name = name(of: element, "A fetched property of \(entity.name ?? "")") else { return }
    let place = "Fetched property \(entity.name ?? "").\(name)"
    guard let child = element.children(named: "fetchRequest").first else {
      return report(element, "\(place) has no fetchRequest.")
    }
    guard let request = readRequest(child, "The request of fetched property \(entity.name ?? "").\(name)")
    else {
      return
    }
    fetchedProperties.append(
      XcodeFetchedProperty(
        entity: entity, name: name, isOptional: flag("optional", of: element, place) ?? false,
        isTransient: flag("transient", of: element, place) ?? false,
        renamingIdentifier: text("elementID", of: element),
        versionHashModifier: text("versionHashModifier", of: element), userInfo: userInfo(of: element, place),
        request: request))
  }

  mutating func readRequest(_ element: XcodeElement, _ kind: String) -> XcodeRequest? {
    guard let name = name(of: element, kind) else { return nil }
    let place = "\(kind) \(name)"
    guard let entity = text("entity", of: element) else {
      report(element, "\(place) names no entity.")
      return nil
    }
    guard byName[entity] != nil else {
      report(element, "\(place) fetches entity \(entity.prefix(300)), which is not in the model.")
      return nil
    }
    return XcodeRequest(
      name: name, entity: entity, predicate: text("predicateString", of: element),
      fetchLimit: count("fetchLimit", of: element, place) ?? 0,
      fetchBatchSize: count("fetchBatchSize", of: element, place) ?? 0,
      includesSubentities: flag("includeSubentities", "includesSubentities", of: element, place),
      includesPropertyValues: flag("includePropertyValues", "includesPropertyValues", of: element, place),
      includesPendingChanges: flag("includePendingChanges", "includesPendingChanges", of: element, place),
      returnsObjectsAsFaults: flag("returnObjectsAsFaults", "returnsObjectsAsFaults", of: element, place),
      returnsDistinctResults: flag("returnDistinctResults", "returnsDistinctResults", of: element, place),
      line: element.line)
  }
}
