@_spi(Reflection) import Swift

#if canImport(ObjectiveC)
  import ObjectiveC
#endif

/// The stored properties that classes declare, by name, without making an object of them.
enum StoredProperties {
  /// The names of the stored properties that `type` and its superclasses below `base` have; of a lazy one the name it has in the source.
  static func names(of type: AnyClass, below base: AnyClass) -> [String] {
    var names: [String] = []
    #if canImport(ObjectiveC)
      var current: AnyClass? = type
      while let now = current, now != base {
        var count: UInt32 = 0
        let fields = class_copyIvarList(now, &count)
        for place in 0..<Int(count) {
          if let name = fields.flatMap({ ivar_getName($0[place]) }) { names.append(String(cString: name)) }
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
      _ = _forEachField(of: type, options: options) { name, _, _, _ in
        if number >= inherited { names.append(String(cString: name)) }
        number += 1
        return true
      }
    #endif
    return names.map { $0.hasPrefix(lazyPrefix) ? String($0.dropFirst(lazyPrefix.count)) : $0 }
  }

  /// What the compiler puts before the name of a lazy property.
  private static let lazyPrefix = "$__lazy_storage_$_"
}
