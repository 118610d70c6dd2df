import Foundation
import StrataCore

extension NSPersistentStoreCoordinator {
  private static let registered = Mutex<[String: NSPersistentStore.Type]>([:])

  /// Has stores of type `storeType` made of a class of the program's own, a subclass of `NSIncrementalStore` or `NSAtomicStore`; nil forgets the type. Stores that
  /// are open stay. Traps for another class, and for the types of Strata's own stores.
  public class func registerStoreClass(_ storeClass: AnyClass?, forStoreType storeType: String) {
    if [NSSQLiteStoreType, NSBinaryStoreType, NSInMemoryStoreType, "LMDB"].contains(storeType) {
      stop("registerStoreClass(_:forStoreType:): the type “\(storeType)” is that of a store of Strata's.")
    }
    let type = PersistentStoreDescription.StoreType(rawValue: storeType)
    guard let storeClass else {
      registered.withLock { $0[storeType] = nil }
      return StoreEngines.unregister(type)
    }
    guard let program = storeClass as? NSPersistentStore.Type,
      program is NSIncrementalStore.Type || program is NSAtomicStore.Type
    else {
      stop(
        "registerStoreClass(_:forStoreType:): \(storeClass) is no subclass of NSIncrementalStore or NSAtomicStore."
      )
    }
    registered.withLock { $0[storeType] = program }
    StoreEngines.register(ProgramStoreKind(storeType: type, storeClass: program))
  }

  /// The same with a type as a value.
  public class func registerStoreClass(_ storeClass: AnyClass?, type storeType: NSPersistentStore.StoreType) {
    registerStoreClass(storeClass, forStoreType: storeType.rawValue)
  }

  /// The types of stores that can be added, each with its class in an `NSValue`, which holds the class's address.
  public class var registeredStoreTypes: [String: NSValue] {
    var classes: [String: NSPersistentStore.Type] = [
      NSSQLiteStoreType: EngineStore.self, NSBinaryStoreType: EngineStore.self,
      NSInMemoryStoreType: EngineStore.self,
    ]
    classes.merge(registered.withLock { $0 }) { $1 }
    return classes.mapValues { storeClass in
      var address = UInt(bitPattern: unsafeBitCast(storeClass as AnyClass, to: UnsafeRawPointer.self))
      // The bytes are copied; "Q" is how Foundation names 64 bits without a sign.
      return NSValue(bytes: &address, objCType: "Q")
    }
  }
}
