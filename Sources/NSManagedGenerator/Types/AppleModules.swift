/// Modules of Apple's systems that programs with Core Data import, and nobody has elsewhere.
enum AppleModules {
  static let names: Set<String> = [
    "Accelerate", "AppIntents", "AppKit", "AppTrackingTransparency", "AuthenticationServices", "AVFoundation",
    "AVKit",
    "BackgroundTasks", "CloudKit", "Cocoa", "Combine", "Contacts", "ContactsUI", "CoreAudio", "CoreBluetooth",
    "CoreGraphics", "CoreImage", "CoreLocation", "CoreMedia", "CoreML", "CoreMotion", "CoreSpotlight",
    "CoreText",
    "CoreVideo", "CryptoKit", "Darwin", "EventKit", "EventKitUI", "GameKit", "HealthKit", "HomeKit",
    "ImageIO", "Intents",
    "LocalAuthentication", "MapKit", "MediaPlayer", "MessageUI", "Metal", "MetalKit", "MultipeerConnectivity",
    "NaturalLanguage", "Network", "ObjectiveC", "OSLog", "PDFKit", "Photos", "PhotosUI", "QuartzCore",
    "QuickLook",
    "SafariServices", "SceneKit", "Security", "SpriteKit", "StoreKit", "SwiftUI", "SystemConfiguration",
    "UIKit",
    "UniformTypeIdentifiers", "UserNotifications", "Vision", "WatchConnectivity", "WatchKit", "WebKit",
    "WidgetKit", "os",
  ]
}
