import StrataCore

/// The type of expressions that are a fetch.
public let NSFetchRequestExpressionType = NSExpression.ExpressionType.fetchRequest

/// A fetch as an expression: what a request finds in a context, or how many there are. In memory, and in fetches whose stores are all in
/// memory or atomic; another fetch with such an expression in its predicate throws.
open class NSFetchRequestExpression: NSExpression {
  /// An expression of the fetch request and the context that two expressions stand for.
  open class func expression(forFetch fetch: NSExpression, context: NSExpression, countOnly countFlag: Bool)
    -> NSExpression
  {
    NSFetchRequestExpression(.fetch(fetch, context, countFlag))
  }

  /// What stands for the fetch request.
  public var requestExpression: NSExpression { parts.request }
  /// What stands for the context.
  public var contextExpression: NSExpression { parts.context }
  /// Whether the value is the number of results.
  public var isCountOnlyRequest: Bool { parts.isCount }

  private var parts: (request: NSExpression, context: NSExpression, isCount: Bool) {
    guard case .fetch(let request, let context, let isCount) = kind else {
      stop("an NSFetchRequestExpression is made by expression(forFetch:context:countOnly:).")
    }
    return (request, context, isCount)
  }

  static func value(request: Any?, context: Any?, _ isCount: Bool) -> Any? {
    guard let request = request as? NSFetchRequestDescription,
      let context = context as? NSManagedObjectContext
    else {
      refuse("a fetch in an expression needs an NSFetchRequest and an NSManagedObjectContext.")
      return nil
    }
    do {
      return isCount ? try context.counted(request) : try context.found(request)
    } catch {
      refuse("a fetch in an expression failed: \(error)")
      return nil
    }
  }
}
