@_spi(Reflection) import Swift

#if canImport(ObjectiveC)
  import ObjectiveC
#endif

/// The stored properties that classes declare, by name, without making an object of them.
enum StoredProperties {
  /// The stored properties that `type` and its superclasses below `base` have; of a lazy one the name it has in the source. Their types where the
  /// runtime tells, which Objective-C's does not.
  static func all(of type: AnyClass, below base: AnyClass) -> [(name: String, type: Any.Type?)] {
    var properties: [(name: String, type: Any.Type?)] = []
    #if canImport(ObjectiveC)
      var current: AnyClass? = type
      while let now = current, now != base {
        var count: UInt32 = 0
        let fields = class_copyIvarList(now, &count)
        for place in 0..<Int(count) {
          if let name = fields.flatMap({ ivar_getName($0[place]) }) {
            properties.append((String(cString: name), nil))
          }
        }
        free(fields)
        current = class_getSuperclass(now)
      }
    #else
      // The fields of superclasses come first. Bit 0 says that a class is asked.
      let options = _EachFieldOptions(rawValue: 1)
      var inherited = 0
      _ = _forEachField(of: base, options: options) { _, _, _, _ in
        inherited += 1
        return true
      }
      var number = 0
      _ = _forEachField(of: type, options: options) { name, _, type, _ in
        if number >= inherited { properties.append((String(cString: name), type)) }
        number += 1
        return true
      }
    #endif
    return properties.map { name, type in
      (name.hasPrefix(lazyPrefix) ? String(name.dropFirst(lazyPrefix.count)) : name, type)
    }
  }

  /// What the compiler puts before the name of a lazy property.
  private static let lazyPrefix = "$__lazy_storage_$_"
}
