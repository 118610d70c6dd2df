import StrataCore

/// A persisted property of a class in rows of its entity.
final class ModelProperty {
  /// What the class says of it.
  let descriptor: PropertyDescriptor
  /// Its position in rows.
  let slot: Int
  /// Reads and writes its values: a `PropertyCodec` of the type of the property.
  let codec: AnyCodec

  var name: String { descriptor.name }

  init(_ descriptor: PropertyDescriptor, slot: Int) {
    self.descriptor = descriptor
    self.slot = slot
    codec = AnyCodec.codec(for: descriptor)
  }
}

/// How the properties of a class lie in rows of its entity: leads from the key paths that accessors use to slots.
///
/// One for each class and context, used where the context is. A key path that is written in the source is one object for good, and found by its address; any other
/// one by what it says, the first time.
final class ModelPlan {
  /// In the order of the class's metadata.
  let properties: [ModelProperty]
  let descriptor: ModelDescriptor
  /// What takes initial values while instances are made for rows.
  let sink: ModelMaking.Sink
  /// Open addressing by address; at most half full. The key paths are kept, so that no other object gets their addresses.
  private var table: [(keyPath: AnyKeyPath, property: ModelProperty)?]
  private var used = 0

  /// The plan of rows that lie as `row` does.
  init(_ row: ModelRow) {
    let type = Swift.type(of: row)
    descriptor = ModelDescriptor.of(type.modelType)
    sink = type.makeSink()
    let descriptor = descriptor
    properties = descriptor.properties.map { property in
      guard let slot = row.slot(ofProperty: property.name) else {
        stop(
          "the entity \(row.entity.name ?? "?") has no property \(property.name), which \(descriptor.type) has"
        )
      }
      return ModelProperty(property, slot: slot)
    }
    var size = 16
    while size < properties.count * 4 { size *= 2 }
    table = Array(repeating: nil, count: size)
    for property in properties { remember(property.descriptor.keyPath, property) }
  }

  @inline(__always)
  private func place(_ keyPath: AnyKeyPath) -> Int {
    (Int(bitPattern: ObjectIdentifier(keyPath)) >> 4) & (table.count - 1)
  }

  /// The property that a key path of the class, or of one that it inherits from, names. Stops the process for any other key path.
  @inline(__always)
  func property(_ keyPath: AnyKeyPath, _ row: ModelRow) -> ModelProperty {
    var place = place(keyPath)
    while let entry = table[place] {
      if entry.keyPath === keyPath { return entry.property }
      place = (place + 1) & (table.count - 1)
    }
    return find(keyPath, row)
  }

  @inline(never)
  private func find(_ keyPath: AnyKeyPath, _ row: ModelRow) -> ModelProperty {
    guard let name = name(of: keyPath, row), let property = properties.first(where: { $0.name == name })
    else {
      stop("\(keyPath) is no persisted property of \(descriptor.type)")
    }
    remember(keyPath, property)
    return property
  }

  private func name(of keyPath: AnyKeyPath, _ row: ModelRow) -> String? {
    if let known = descriptor.property(for: keyPath) { return known.name }
    // A key path of a submodel to what it inherits is another one than its superclass declares.
    guard let entity = row.entity.name else { return nil }
    return try? row.managedObjectContext?.name(of: keyPath, fromEntity: entity)
  }

  private func remember(_ keyPath: AnyKeyPath, _ property: ModelProperty) {
    // Key paths that a program makes again and again are found the slow way: the table does not grow without end.
    if (used + 1) * 2 > table.count { return }
    var place = place(keyPath)
    while table[place] != nil { place = (place + 1) & (table.count - 1) }
    table[place] = (keyPath, property)
    used += 1
  }
}
