import CoreData

/// Properties of Foundation's mutable classes, as older code declares them.
public class Binder: NSManagedObject {
  @NSManaged public var sheets: NSMutableOrderedSet?
  @NSManaged public var loose: NSMutableSet?
  @NSManaged public var list: NSMutableArray?
  @NSManaged public var table: NSMutableDictionary?
  @NSManaged public var members: NSMutableSet?
  @NSManaged public var label: NSMutableString?
  @NSManaged public var scan: NSMutableData?
  @NSManaged public var tags: Set<String>?
  @NSManaged public var primitiveList: NSMutableArray?
}

public class Sheet: NSManagedObject {
  @NSManaged public var number: Int32
  @NSManaged public var binder: Binder?
  @NSManaged public var pocket: Binder?
}
