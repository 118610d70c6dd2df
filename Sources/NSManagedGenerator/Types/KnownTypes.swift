/// The types that a program sees without saying where they are from: which module they belong to and what they are.
///
/// On Linux Foundation is three modules, which is in the names of everything that has a property of such a type.
enum KnownTypes {
  /// Lines of a module, a kind, and the names of that module's types of that kind.
  static let table = """
    Foundation class BlockOperation Bundle ByteCountFormatter DateFormatter DateIntervalFormatter Dimension EnergyFormatter
    Foundation class FileHandle Formatter Host ISO8601DateFormatter InputStream JSONSerialization LengthFormatter MassFormatter
    Foundation class NSAffineTransform NSArray NSAttributedString NSCalendar NSCharacterSet NSCoder NSComparisonPredicate
    Foundation class NSCompoundPredicate NSCondition NSConditionLock NSCountedSet NSData NSDate NSDateComponents NSDateInterval
    Foundation class NSDecimalNumber NSDecimalNumberHandler NSDictionary NSEnumerator NSError NSExpression NSIndexPath NSIndexSet
    Foundation class NSKeyedArchiver NSKeyedUnarchiver NSLocale NSLock NSMeasurement NSMutableArray NSMutableAttributedString
    Foundation class NSMutableCharacterSet NSMutableData NSMutableDictionary NSMutableIndexSet NSMutableOrderedSet NSMutableSet
    Foundation class NSMutableString NSNotification NSNull NSNumber NSObject NSOrderedSet NSOrthography NSPersonNameComponents
    Foundation class NSPredicate NSRecursiveLock NSRegularExpression NSSet NSSortDescriptor NSString NSTextCheckingResult
    Foundation class NSTimeZone NSURL NSURLComponents NSURLQueryItem NSUUID NSValue NotificationQueue NumberFormatter Operation
    Foundation class OperationQueue OutputStream PersonNameComponentsFormatter Pipe Port PortMessage Process Progress
    Foundation class PropertyListSerialization RunLoop Scanner SocketPort Stream Thread Timer Unit UnitAcceleration UnitAngle
    Foundation class UnitArea UnitConcentrationMass UnitConverter UnitConverterLinear UnitDispersion UnitDuration
    Foundation class UnitElectricCharge UnitElectricCurrent UnitElectricPotentialDifference UnitElectricResistance UnitEnergy
    Foundation class UnitFrequency UnitFuelEfficiency UnitIlluminance UnitInformationStorage UnitLength UnitMass UnitPower
    Foundation class UnitPressure UnitSpeed UnitTemperature UnitVolume UserDefaults
    Foundation enum ByteCountFormatter.CountStyle CGRectEdge DateFormatter.Style DateIntervalFormatter.Style EnergyFormatter.Unit
    Foundation enum Formatter.Context Formatter.UnitStyle InflectionRule LengthFormatter.Unit MassFormatter.Unit
    Foundation enum Morphology.GrammaticalGender Morphology.GrammaticalNumber Morphology.PartOfSpeech
    Foundation enum NSCoder.DecodingFailurePolicy NSComparisonPredicate.Modifier NSComparisonPredicate.Operator
    Foundation enum NSCompoundPredicate.LogicalType NSExpression.ExpressionType NSRectEdge NotificationQueue.PostingStyle
    Foundation enum NumberFormatter.PadPosition NumberFormatter.RoundingMode NumberFormatter.Style Operation.QueuePriority
    Foundation enum PersonNameComponentsFormatter.Style Process.TerminationReason QualityOfService Scanner.NumberRepresentation
    Foundation enum Stream.Status URLError.Code
    Foundation protocol CustomNSError NSCacheDelegate NSCoding NSCopying NSDecimalNumberBehaviors NSKeyedArchiverDelegate
    Foundation protocol NSKeyedUnarchiverDelegate NSLocking NSMutableCopying NSObjectProtocol NSSecureCoding PortDelegate
    Foundation protocol ProgressReporting RecoverableError ReferenceConvertible StreamDelegate
    Foundation struct _NSRange AffineTransform AlignmentOptions ByteCountFormatter.Units CGFloat CGPoint CGRect CGSize CharacterSet
    Foundation struct ISO8601DateFormatter.Options IndexSet IndexSet.Index IndexSet.RangeView JSONSerialization.ReadingOptions
    Foundation struct JSONSerialization.WritingOptions Morphology Morphology.CustomPronoun NSAffineTransformStruct NSArray.Iterator
    Foundation struct NSAttributedString.EnumerationOptions NSAttributedString.Key NSBinarySearchingOptions NSCalendar.Identifier
    Foundation struct NSCalendar.Options NSCalendar.Unit NSComparisonPredicate.Options NSDictionary.Iterator NSEdgeInsets
    Foundation struct NSEnumerationOptions NSEnumerator.Iterator NSExceptionName NSIndexSetIterator NSLocale.Key NSNotification.Name
    Foundation struct NSRegularExpression.MatchingFlags NSRegularExpression.MatchingOptions NSRegularExpression.Options
    Foundation struct NSSortOptions NSString.EncodingConversionOptions NSString.EnumerationOptions NSTextCheckingKey
    Foundation struct NSTextCheckingResult.CheckingType NSZone Notification NotificationQueue.NotificationCoalescing ObjCBool
    Foundation struct PersonNameComponents PersonNameComponentsFormatter.Options Progress.FileOperationKind ProgressKind
    Foundation struct ProgressUserInfoKey PropertyListSerialization.MutabilityOptions RunLoop.Mode Stream.Event Stream.PropertyKey
    Foundation struct StreamNetworkServiceTypeValue StreamSOCKSProxyConfiguration StreamSOCKSProxyVersion StreamSocketSecurityLevel
    Foundation struct StringTransform URLError URLFileResourceType URLResourceKey URLResourceValues
    FoundationEssentials class FileManager JSONDecoder JSONEncoder NotificationCenter ProcessInfo PropertyListDecoder PropertyListEncoder
    FoundationEssentials enum AttributeDynamicLookup AttributeScopes AttributedString.AttributeMergePolicy
    FoundationEssentials enum AttributedString.AttributeRunBoundaries AttributedString.WritingDirection Calendar.Component
    FoundationEssentials enum Calendar.Identifier Calendar.MatchingPolicy Calendar.RepeatedTimePolicy Calendar.SearchDirection
    FoundationEssentials enum ComparisonResult Data.Deallocator Decimal.CalculationError Decimal.RoundingMode
    FoundationEssentials enum FileManager.SearchPathDirectory FileManager.URLRelationship JSONDecoder.DataDecodingStrategy
    FoundationEssentials enum JSONDecoder.DateDecodingStrategy JSONDecoder.KeyDecodingStrategy
    FoundationEssentials enum JSONDecoder.NonConformingFloatDecodingStrategy JSONEncoder.DataEncodingStrategy
    FoundationEssentials enum JSONEncoder.DateEncodingStrategy JSONEncoder.KeyEncodingStrategy
    FoundationEssentials enum JSONEncoder.NonConformingFloatEncodingStrategy Locale.HourCycle Locale.IdentifierType Locale.LanguageDirection
    FoundationEssentials enum Locale.Weekday PredicateExpressions PredicateExpressions.ArithmeticOperator
    FoundationEssentials enum PredicateExpressions.ComparisonOperator PropertyListDecoder.PropertyListFormat SortOrder TimeZone.NameStyle
    FoundationEssentials enum URL.DirectoryHint
    FoundationEssentials protocol AttributeScope AttributedStringAttributeMutation AttributedStringKey AttributedStringProtocol ContiguousBytes
    FoundationEssentials protocol DataProtocol DecodableAttributedStringKey DecodableWithConfiguration DecodingConfigurationProviding
    FoundationEssentials protocol DiscreteFormatStyle EncodableAttributedStringKey EncodableWithConfiguration EncodingConfigurationProviding
    FoundationEssentials protocol FileManagerDelegate FormatStyle LocalizedError MarkdownDecodableAttributedStringKey MutableDataProtocol
    FoundationEssentials protocol ParseStrategy ParseableFormatStyle PredicateExpression SortComparator StandardPredicateExpression
    FoundationEssentials struct AttributeContainer AttributeScopeCodableConfiguration AttributeScopes.FoundationAttributes AttributedString
    FoundationEssentials struct AttributedString.AttributeInvalidationCondition AttributedString.CharacterView AttributedString.Index
    FoundationEssentials struct AttributedString.Runs AttributedString.UTF16View AttributedString.UTF8View AttributedString.UnicodeScalarView
    FoundationEssentials struct AttributedSubstring Calendar Calendar.RecurrenceRule CocoaError CocoaError.Code Data
    FoundationEssentials struct Data.Base64DecodingOptions Data.Base64EncodingOptions Data.Iterator Data.ReadingOptions Data.SearchOptions
    FoundationEssentials struct Data.WritingOptions Date Date.ISO8601FormatStyle DateComponents DateComponents.ISO8601FormatStyle DateInterval
    FoundationEssentials struct Decimal DiscontiguousAttributedSubstring FileAttributeKey FileAttributeType
    FoundationEssentials struct FileManager.DirectoryEnumerationOptions FileManager.ItemReplacementOptions FileManager.SearchPathDomainMask
    FoundationEssentials struct FileManager.UnmountOptions FileProtectionType IndexPath JSONEncoder.OutputFormatting Locale Locale.Collation
    FoundationEssentials struct Locale.Components Locale.Currency Locale.Language Locale.LanguageCode Locale.MeasurementSystem
    FoundationEssentials struct Locale.NumberingSystem Locale.Region Locale.Script Locale.Subdivision Locale.Variant
    FoundationEssentials struct NotificationCenter.ObservationToken OperatingSystemVersion POSIXError PredicateBindings PredicateError
    FoundationEssentials struct PredicateExpressions.PredicateRegex PredicateExpressions.VariableID TimeZone URL URL.Template URLComponents
    FoundationEssentials struct URLQueryItem UUID
    FoundationInternationalization enum ByteCountFormatStyle.Style CurrencyFormatStyleConfiguration DescriptiveNumberFormatConfiguration
    FoundationInternationalization enum NumberFormatStyleConfiguration
    FoundationInternationalization struct ByteCountFormatStyle ByteCountFormatStyle.Attributed ByteCountFormatStyle.Units
    FoundationInternationalization struct CurrencyFormatStyleConfiguration.Presentation CurrencyFormatStyleConfiguration.SignDisplayStrategy
    FoundationInternationalization struct DescriptiveNumberFormatConfiguration.Presentation FormatStyleCapitalizationContext
    FoundationInternationalization struct NumberFormatStyleConfiguration.DecimalSeparatorDisplayStrategy NumberFormatStyleConfiguration.Grouping
    FoundationInternationalization struct NumberFormatStyleConfiguration.Notation NumberFormatStyleConfiguration.Precision
    FoundationInternationalization struct NumberFormatStyleConfiguration.SignDisplayStrategy StringStyle
    Swift class AnyKeyPath
    Swift struct Int8 Int16 Int32 Int64 Int128 UInt8 UInt16 UInt32 UInt64 UInt128 Float16 AnyHashable StaticString Duration ContiguousArray ArraySlice
    Swift enum Never
    Swift protocol Error Sendable
    StrataCore class ManagedObject ManagedObjectContext ManagedObjectModel EntityDescription
    StrataCore struct ManagedObjectID
    """

  /// Types of the standard library whose names are one letter.
  static let standard: [String: String] = [
    "Array": "a", "Bool": "b", "Dictionary": "D", "Double": "d", "Float": "f", "Set": "h", "Int": "i",
    "Character": "J", "ClosedRange": "N", "Range": "n", "ObjectIdentifier": "O", "Optional": "q",
    "String": "S",
    "Substring": "s", "UInt": "u",
  ]
  /// Of those, the enums; all others are structs.
  static let standardEnums: Set<String> = ["Optional"]

  /// Other names for types of Foundation, the standard library and this package.
  static let aliases: [String: String] = [
    "TimeInterval": "Double", "NSRange": "_NSRange", "NSPoint": "CGPoint", "NSSize": "CGSize",
    "NSRect": "CGRect",
    "NSInteger": "Int", "NSUInteger": "UInt", "NSErrorDomain": "NSString", "unichar": "UInt16",
    "Float32": "Float",
    "Float64": "Double", "IntegerLiteralType": "Int", "NSManagedObject": "ManagedObject",
    "NSManagedObjectContext": "ManagedObjectContext", "NSManagedObjectModel": "ManagedObjectModel",
    "NSEntityDescription": "EntityDescription", "NSManagedObjectID": "ManagedObjectID",
  ]

  /// Whether it is the class every managed object's class inherits from. A program may have a class `ManagedObject` of its own.
  static func isBase(_ type: Nominal) -> Bool {
    type.name == "NSManagedObject"
      || type.name == "ManagedObject" && ["StrataCore", "Strata", "CoreData"].contains(type.module)
  }
}
