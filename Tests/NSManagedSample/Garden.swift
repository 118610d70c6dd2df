import CoreData
import Foundation

/// Its properties are generated from the model, which says “category” of it.
public class Bed: NSManagedObject {
  public var tallest: Plant? {
    (plants?.array as? [Plant])?.max { $0.height < $1.height }
  }
}

/// The model says nothing of its code: all of it is here.
open class Gardener: NSManagedObject {
  public enum Mood: Int16 { case none, calm }

  @NSManaged open var nickname: String?
  @NSManaged public var visits: Int64
  @NSManaged public var mood: Mood
  @NSManaged public var beds: Set<Bed>
}

/// Expressions are both Foundation's and CoreData's by name.
public func nameExpression() -> NSExpression { NSExpression(forKeyPath: "name") }

/// Where the model is at run time.
public let gardenURL = Bundle.module.url(forResource: "Garden", withExtension: "xcdatamodeld")
