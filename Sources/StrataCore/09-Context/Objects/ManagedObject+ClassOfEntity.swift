extension ManagedObject {
  /// Makes the object, which is just being made as one of a superclass, one of `type`: `ManagedObject(entity:insertInto:)` with an entity that
  /// has a class of its own gives an object of that class, as in Core Data.
  ///
  /// False when `type` does not inherit from the object's class, when its objects have stored properties of their own, for which there is no
  /// room, and on Apple's systems.
  @inline(never)
  final func takeClass(_ type: ManagedObject.Type) -> Bool {
    #if canImport(ObjectiveC)
      return false
    #else
      var superclass: AnyClass? = _getSuperclass(type)
      while let current = superclass, current != Swift.type(of: self) { superclass = _getSuperclass(current) }
      guard superclass != nil, Self.instanceSize(type) == Self.instanceSize(Swift.type(of: self)) else {
        return false
      }
      // Unsafe: an object begins with the address of its class's metadata. As large as before, of a class that has all methods of the one
      // before in the same places, it is an object of that class.
      Unmanaged.passUnretained(self).toOpaque().storeBytes(
        of: unsafeBitCast(type, to: UnsafeRawPointer.self), as: UnsafeRawPointer.self)
      return true
    #endif
  }

  #if !canImport(ObjectiveC)
    /// How many bytes an object of the class takes.
    private static func instanceSize(_ type: ManagedObject.Type) -> UInt32 {
      // Unsafe: behind kind, superclass, flags and address point, in the metadata of every class.
      unsafeBitCast(type, to: UnsafeRawPointer.self).load(fromByteOffset: 24, as: UInt32.self)
    }
  #endif
}
