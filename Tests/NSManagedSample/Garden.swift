import CoreData
import Foundation

/// Its properties are generated from the model, which says “category” of it.
public class Bed: NSManagedObject {
  public var tallest: Plant? {
    (plants?.array as? [Plant])?.max { $0.height < $1.height }
  }
}

/// The model says nothing of its code: all of it is here.

public final class Gardener: NSManagedObject {
  @NSManaged public var nickname: String?
  @NSManaged public var beds: Set<Bed>

}

/// Expressions are both Foundation's and CoreData's by name.
public func nameExpression() -> NSExpression { NSExpression(forKeyPath: "name") }

/// Where the model is at run time.
public let gardenURL = Bundle.module.url(forResource: "Garden", withExtension: "xcdatamodeld")
