import CoreData

// What Docs/Porting.md takes for granted: Scripts/check-blocks compiles the page's code with it.

final class Entry: NSManagedObject {
  var title: String? {
    get { primitiveValue(forKey: "title") as? String }
    set { setPrimitiveValue(newValue, forKey: "title") }
  }
}
