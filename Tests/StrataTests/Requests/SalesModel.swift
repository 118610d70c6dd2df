import Foundation
import Strata

/// The model the tests of requests live in.
///
///     Product ──sales──▶▶ Sale       with `name` and `group`
///     Sale ──product──▶ Product      the attributes of a sale, most of them optional; two indexes
///      └ OnlineSale                  a subentity with `site`
enum SalesModel {
  static func make(indexed: Bool = true, _ change: ([String: EntityDescription]) -> Void = { _ in })
    -> ManagedObjectModel
  {
    let product = EntityDescription(
      "Product", managedObjectClass: Product.self,
      properties: [AttributeDescription("name", .string), AttributeDescription("group", .string)])
    let online = EntityDescription(
      "OnlineSale", managedObjectClass: OnlineSale.self, properties: [AttributeDescription("site", .string)])
    let sale = EntityDescription(
      "Sale", managedObjectClass: Sale.self,
      properties: [
        AttributeDescription("region", .string), AttributeDescription("amount", .integer64),
        AttributeDescription("price", .double), AttributeDescription("tax", .decimal),
        AttributeDescription("day", .date), AttributeDescription("isPaid", .boolean),
        AttributeDescription("memo", .string, isTransient: true),
      ],
      indexes: indexed
        ? [
          FetchIndexDescription(name: "byAmount", attributes: ["amount"]),
          FetchIndexDescription(name: "byRegionAndPrice", attributes: ["isPaid", "price"]),
        ] : [],
      subentities: [online])
    let sales = RelationshipDescription("sales", to: sale, maxCount: 0)
    let inverse = RelationshipDescription("product", to: product, maxCount: 1)
    sales.inverseRelationship = inverse
    inverse.inverseRelationship = sales
    product.properties.append(sales)
    sale.properties.append(inverse)
    let entities = [product, sale, online]
    change(Dictionary(uniqueKeysWithValues: entities.map { ($0.name ?? "", $0) }))
    return ManagedObjectModel(entities: entities)
  }
}

final class Product: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }
}

class Sale: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  var region: String? {
    get { value(forKey: "region") as? String }
    set { setValue(newValue, forKey: "region") }
  }
  var amount: Int64? {
    get { value(forKey: "amount") as? Int64 }
    set { setValue(newValue, forKey: "amount") }
  }
  var price: Double? {
    get { value(forKey: "price") as? Double }
    set { setValue(newValue, forKey: "price") }
  }
  var product: Product? {
    get { value(forKey: "product") as? Product }
    set { setValue(newValue, forKey: "product") }
  }
}

final class OnlineSale: Sale {}

extension ManagedObjectContext {
  /// A new product.
  @discardableResult
  func addProduct(_ name: String, group: String? = nil) -> Product {
    let product = Product(context: self)
    product.name = name
    product.setValue(group, forKey: "group")
    return product
  }

  /// A new sale.
  @discardableResult
  func addSale(_ region: String?, _ amount: Int64?, price: Double? = nil, of product: Product? = nil) -> Sale
  {
    let sale = Sale(context: self)
    sale.region = region
    sale.amount = amount
    sale.price = price
    sale.product = product
    return sale
  }
}

extension FetchRequest where Result == FetchedDictionary {
  /// A request for rows of sales.
  static func sales(
    _ columns: [FetchColumn] = [], by groups: [FetchColumn] = [], sorted: [FetchSort] = []
  ) -> FetchRequest<FetchedDictionary> {
    var request = FetchRequest<FetchedDictionary>(entityName: "Sale", sortDescriptors: sorted)
    request.propertiesToFetch = columns
    request.propertiesToGroupBy = groups
    return request
  }
}

extension FetchColumn {
  static func sum(_ key: String, as name: String = "sum", _ type: AttributeType = .undefined) -> FetchColumn {
    .expression(name, .aggregate(.sum, .key(key)), type)
  }
}
