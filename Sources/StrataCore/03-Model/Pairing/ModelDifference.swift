/// What is different between two versions of a model, as far as it counts for their hashes (rule 299): for people (rule 316).
enum ModelDifference {
  /// A sentence for each entity that differs, such as “Book differs: pages is new, title was mandatory”.
  static func sentences(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> [String] {
    let pairing = ModelPairing(source, destination)
    let changed = pairing.pairs.compactMap { sentence($0) }
    return
      (changed + pairing.added.map { "\($0.name ?? "") is only in the model" }
      + pairing.removed.map { "\($0.name ?? "") is only in the store" }).sorted()
  }

  private static func sentence(_ pair: ModelPairing.EntityPair) -> String? {
    let (old, new) = (pair.source, pair.destination)
    if old.name == new.name && old.versionHash == new.versionHash { return nil }
    var parts: [String] = []
    if old.name != new.name { parts.append("it was \(old.name ?? "")") }
    if old.isAbstract != new.isAbstract { parts.append(new.isAbstract ? "is abstract" : "was abstract") }
    if old.superentity?.name != new.superentity?.name {
      parts.append(
        "inherits from \(new.superentity?.name ?? "nothing"), was \(old.superentity?.name ?? "nothing")")
    }
    if old.versionHashModifier != new.versionHashModifier {
      parts.append("has another version hash modifier")
    }
    let constraints = { (entity: EntityDescription) in Set(entity.uniquenessConstraints.map { $0.sorted() }) }
    if constraints(old) != constraints(new) { parts.append("has other uniqueness constraints") }
    for property in pair.attributes + pair.relationships { parts += differences(property) }
    let kept = Set((pair.attributes + pair.relationships).compactMap { $0.source?.name })
    for slot in old.slotDescriptions where !kept.contains(slot.name) { parts.append("\(slot.name) is gone") }
    // What is left is inherited.
    return "\(new.name ?? "") differs\(parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))"
  }

  private static func differences(_ pair: ModelPairing.PropertyPair) -> [String] {
    let name = pair.destination.name
    guard let source = pair.source else { return ["\(name) is new"] }
    let (old, new) = (source.property, pair.destination.property)
    if source.name == name && old.versionHash == new.versionHash { return [] }
    var parts: [String] = []
    if source.name != name { parts.append("\(name) was \(source.name)") }
    if old.isOptional != new.isOptional {
      parts.append("\(name) was \(old.isOptional ? "optional" : "mandatory")")
    }
    if old.isTransient != new.isTransient {
      parts.append("\(name) was \(old.isTransient ? "transient" : "stored")")
    }
    if let old = old as? AttributeDescription, let new = new as? AttributeDescription,
      old.attributeType != new.attributeType
    {
      parts.append("\(name) was \(old.attributeType)")
    }
    if let old = old as? RelationshipDescription, let new = new as? RelationshipDescription {
      if old.isToMany != new.isToMany {
        parts.append("\(name) was \(old.isToMany ? "to-many" : "to-one")")
      } else if old.maxCount != new.maxCount || old.minCount != new.minCount {
        parts.append("\(name) has other limits")
      }
      if old.isOrdered != new.isOrdered {
        parts.append("\(name) was \(old.isOrdered ? "ordered" : "unordered")")
      }
      if old.destinationEntity?.name != new.destinationEntity?.name {
        parts.append("\(name) led to \(old.destinationEntity?.name ?? "nothing")")
      }
      if old.inverseRelationship?.name != new.inverseRelationship?.name {
        parts.append("\(name) has another inverse")
      }
    }
    return parts.isEmpty ? ["\(name) differs"] : parts
  }
}
