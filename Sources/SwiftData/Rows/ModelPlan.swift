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

/// How the properties of a class lie in rows of its entity: leads from the key paths that accessors use to slots. One for each class and context, used where the context is.
final class ModelPlan {
  /// In the order of the class's metadata.
  let properties: [ModelProperty]
  let descriptor: ModelDescriptor
  /// What takes initial values while instances are made for rows.
  let sink: ModelMaking.Sink
  // Unsafe: owned by the plan and freed with it; `properties` keeps what it leads to. So that a look-up counts no references.
  private let list: UnsafeMutablePointer<Unmanaged<ModelProperty>>
  /// For each property its slot, if that holds the property's values as they are; else a number below zero.
  let slots: UnsafePointer<Int32>

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
    list = .allocate(capacity: properties.count)
    let slots = UnsafeMutablePointer<Int32>.allocate(capacity: properties.count)
    self.slots = UnsafePointer(slots)
    for (place, property) in properties.enumerated() {
      (list + place).initialize(to: .passUnretained(property))
      (slots + place).initialize(to: property.codec.isPlain ? Int32(property.slot) : -1)
    }
  }

  deinit {
    list.deallocate()
    slots.deallocate()
  }

  /// The property at a place among those of the class.
  @inline(__always)
  func property(at place: Int) -> ModelProperty { list[place].takeUnretainedValue() }

  /// The property of an entry of a draft.
  @inline(__always)
  func property(_ entry: AnyDraft.Entry, _ row: ModelRow) -> ModelProperty {
    if entry.place >= 0 { return property(at: entry.place) }
    guard let keyPath = entry.keyPath else { stop("an entry of a draft names no property") }
    return property(keyPath, row)
  }

  /// The property that a key path of the class, or of one that it inherits from, names. Stops the process for any other key path.
  @inline(__always)
  func property(_ keyPath: AnyKeyPath, _ row: ModelRow) -> ModelProperty {
    let place = descriptor.place(of: keyPath)
    return place >= 0 ? list[place].takeUnretainedValue() : find(keyPath, row)
  }

  @inline(never)
  private func find(_ keyPath: AnyKeyPath, _ row: ModelRow) -> ModelProperty {
    // A key path of a submodel to what it inherits is another one than its superclass declares.
    guard let entity = row.entity.name,
      let name = try? row.managedObjectContext?.name(of: keyPath, fromEntity: entity),
      let property = properties.first(where: { $0.name == name })
    else {
      stop("\(keyPath) is no persisted property of \(descriptor.type)")
    }
    descriptor.remember(keyPath, as: property.descriptor)
    return property
  }
}

extension ModelPlan {
  /// Gives a new row the attribute of a draft's entry.
  @inline(__always)
  func write(_ entry: AnyDraft.Entry, _ row: ModelRow) {
    let slot = entry.place >= 0 ? Int(slots[entry.place]) : -1
    // Whoever has given a value of one of these types has declared the property so.
    if slot >= 0 {
      switch entry.value {
      case .text(let value): return row.write(value, slot: slot)
      case .whole(let value): return row.write(Int64(value), slot: slot)
      case .long(let value): return row.write(value, slot: slot)
      case .real(let value): return row.write(value, slot: slot)
      case .truth(let value): return row.write(value, slot: slot)
      case .date(let value): return row.write(value, slot: slot)
      default: break
      }
    }
    writeOther(entry, row)
  }

  @inline(never)
  private func writeOther(_ entry: AnyDraft.Entry, _ row: ModelRow) {
    let property = property(entry, row)
    if let value = entry.value.attribute {
      property.codec.writeAny(value, row, property)
    } else if case .nothing = entry.value, property.descriptor.defaultValue != nil {
      // Without a default value the property of a new row is nil.
      property.codec.writeNothing(row, property)
    }
  }
}
