/// Which of the two `validateValue(_:forKey:)` a class overrides.
///
/// Swift has no question for that, and calling a method that is not overridden with every value of every saved object costs more than the
/// rest of the save. But a class's metadata has an address for each method that may be overridden, in the same place in all subclasses:
///
///     ManagedObject   │ … │ willSave │ validateValue │ … │
///     a subclass      │ … │    same  │    another    │ … │    overridden
///
/// The places are found by two classes that override nothing else. Where they are not found, on a system that signs those addresses for
/// instance, every class counts as one that overrides: slower, with the same outcome.
/// ``DidSaveOverrides`` asks the same about `didSave()`.
struct ValidationOverrides: OptionSet {
  let rawValue: Int

  /// The one that takes a reference to an `Any?`.
  static let reference = ValidationOverrides(rawValue: 1)
  /// The one that takes a pointer to an `AnyObject?`.
  static let pointer = ValidationOverrides(rawValue: 2)

  /// What `type` or one of its superclasses below `ManagedObject` overrides. A few loads.
  static func of(_ type: ManagedObject.Type) -> ValidationOverrides {
    guard let referencePlace, let pointerPlace else { return [.reference, .pointer] }
    var found: ValidationOverrides = []
    if word(referencePlace, of: type) != word(referencePlace, of: ManagedObject.self) {
      found.insert(.reference)
    }
    if word(pointerPlace, of: type) != word(pointerPlace, of: ManagedObject.self) { found.insert(.pointer) }
    return found
  }

  private static let referencePlace = place(of: OverridesReference.self)
  private static let pointerPlace = place(of: OverridesPointer.self)

  /// The one word of `ManagedObject`'s metadata that is another one in `type`, which overrides one method, and the same in a class that
  /// overrides none.
  static func place(of type: ManagedObject.Type) -> Int? {
    var found: Int?
    for place in 0..<wordCount(of: ManagedObject.self) {
      let original = word(place, of: ManagedObject.self)
      guard word(place, of: OverridesNothing.self) == original, word(place, of: type) != original else {
        continue
      }
      if found != nil { return nil }
      found = place
    }
    return found
  }

  /// How many words of metadata the class has from its address on.
  private static func wordCount(of type: ManagedObject.Type) -> Int {
    // Behind kind, superclass (and two words and the data pointer of the Objective-C runtime): flags, address point, instance size, alignment,
    // then the size of the metadata and how much of it lies before the address.
    #if canImport(ObjectiveC)
      let sizes = 56
    #else
      let sizes = 32
    #endif
    let metadata = address(of: type)
    let size = metadata.load(fromByteOffset: sizes, as: UInt32.self)
    let before = metadata.load(fromByteOffset: sizes + 4, as: UInt32.self)
    return Int(size - before) / MemoryLayout<UInt>.size
  }

  /// Metadata of a subclass begins with that of its superclass, so every place of `ManagedObject`'s is there.
  static func word(_ place: Int, of type: ManagedObject.Type) -> UInt {
    address(of: type).load(fromByteOffset: place * MemoryLayout<UInt>.size, as: UInt.self)
  }

  private static func address(of type: ManagedObject.Type) -> UnsafeRawPointer {
    // Unsafe: a metatype of a class is the address of the class's metadata, which is never freed.
    unsafeBitCast(type, to: UnsafeRawPointer.self)
  }
}

private final class OverridesNothing: ManagedObject {}

private final class OverridesReference: ManagedObject {
  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    trap("no object is of this class")
  }
}

private final class OverridesPointer: ManagedObject {
  override func validateValue(_ value: UnsafeMutablePointer<AnyObject?>, forKey key: String) throws {
    trap("no object is of the class \(OverridesPointer.self)")
  }
}
